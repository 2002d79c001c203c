# SPDX-License-Identifier: Apache-2.0
"""A person's motion on a robot: limbs, feet, balance, limits."""
