# SPDX-License-Identifier: Apache-2.0
"""Task functions, shares of forces, whole-body control."""
