# SPDX-License-Identifier: Apache-2.0
"""Tests of bodies that roll on their surfaces."""
