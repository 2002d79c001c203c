# SPDX-License-Identifier: Apache-2.0
"""Bip: its task function and its inverse, its step, its control law."""
