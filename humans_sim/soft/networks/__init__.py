# SPDX-License-Identifier: Apache-2.0
"""Masses and links: laws, networks, their simulation and stability."""
