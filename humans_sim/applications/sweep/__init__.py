# SPDX-License-Identifier: Apache-2.0
"""Sweeps: a scenario with many values and seeds, on several processes."""
