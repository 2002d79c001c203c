# SPDX-License-Identifier: Apache-2.0
"""Cloth, hair and loads on a moving body: networks that it drives, or that act back."""
