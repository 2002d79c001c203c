# SPDX-License-Identifier: Apache-2.0
"""Solids, the ground and feet on balls: where things touch."""
