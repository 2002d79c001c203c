# SPDX-License-Identifier: Apache-2.0
"""Deformable ground under bodies: a pin screen that feet press into."""
