# SPDX-License-Identifier: Apache-2.0
"""Bones as voxels: from shapes, meshes and stacks of images."""
