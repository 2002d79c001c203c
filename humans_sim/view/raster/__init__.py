# SPDX-License-Identifier: Apache-2.0
"""Pictures without a graphics card: balls and triangles in one image of depths."""
