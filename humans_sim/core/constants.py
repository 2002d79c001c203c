# SPDX-License-Identifier: Apache-2.0
"""Numbers of nature that several parts use."""

GRAVITY = 9.81
"""Acceleration of free fall where a simulation has no other [m/s^2]."""
DOWNWARD = (0.0, 0.0, -GRAVITY)
"""The same as a vector, z up (3,) [m/s^2]."""
