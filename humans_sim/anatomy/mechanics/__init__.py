# SPDX-License-Identifier: Apache-2.0
"""Mechanics of bones: contact forces, percussions, ligaments, and their equations."""
