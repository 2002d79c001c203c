# SPDX-License-Identifier: Apache-2.0
"""Scenarios, scenes, graphs: simulations and nodes as files describe them."""
