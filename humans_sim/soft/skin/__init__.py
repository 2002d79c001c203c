# SPDX-License-Identifier: Apache-2.0
"""The skin of a human: an implicit surface, its mesh, and how it bends."""
