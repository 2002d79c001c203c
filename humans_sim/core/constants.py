# SPDX-License-Identifier: Apache-2.0
"""Constants that several packages share."""

GRAVITY = 9.81
"""Acceleration of free fall where a simulation has no other [m/s^2]."""
DOWNWARD = (0.0, 0.0, -GRAVITY)
"""The same as a vector, z up (3,) [m/s^2]."""


SPEED_STEPS = (0.0028, 0.0030, 0.0032, 0.0034, 0.0036, 0.0038, 0.0086, 0.0178)
"""Seconds a degree of the RCB-1's speed steps 0 (fast) to 7 (slow)."""
