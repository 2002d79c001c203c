# SPDX-License-Identifier: Apache-2.0
"""Bones as balls: distance maps, medial axes, covers."""
