# SPDX-License-Identifier: Apache-2.0
"""Layers of a picture: deep masses, coats around them, contours seen by a probe."""
