# SPDX-License-Identifier: Apache-2.0
"""Legs, feet and soles of a biped, found from its kinematics and its shapes."""
