# SPDX-License-Identifier: Apache-2.0
"""The wrist: its bones, its ligaments, how it moves."""
