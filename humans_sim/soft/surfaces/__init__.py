# SPDX-License-Identifier: Apache-2.0
"""Implicit surfaces around skeletons, and meshes of them."""
