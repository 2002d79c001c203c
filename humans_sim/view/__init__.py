# SPDX-License-Identifier: Apache-2.0
"""Seeing the models: a browser viewer, drawn from their URDF."""
