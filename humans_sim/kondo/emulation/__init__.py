# SPDX-License-Identifier: Apache-2.0
"""Emulated boards, and a simulated body on them."""
