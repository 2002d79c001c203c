# SPDX-License-Identifier: Apache-2.0
"""The laws of contact, friction and impact, and their solvers."""
