# SPDX-License-Identifier: Apache-2.0
"""Contacts of bones: which balls of two models meet."""
