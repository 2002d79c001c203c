# SPDX-License-Identifier: Apache-2.0
"""Speed steps of the RCB-1 boards; here, so that the driver need not load dynamics."""

SPEED_STEPS = (0.0028, 0.0030, 0.0032, 0.0034, 0.0036, 0.0038, 0.0086, 0.0178)
"""Seconds a degree of the RCB-1's speed steps 0 (fast) to 7 (slow)."""
