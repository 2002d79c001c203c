# SPDX-License-Identifier: Apache-2.0
"""Errors of bones: their meshes, images, models and motions."""

from __future__ import annotations

from humans_sim.core.errors import FileError, HumansError


class AnatomyError(HumansError, ValueError):
    """A volume, a ball model, a ligament or a wrist that cannot be."""


class BoneMeshError(AnatomyError):
    """A mesh that does not bound a bone, and that no repair makes one."""


class ImageStackError(AnatomyError):
    """Slices that are no stack: their size, spacing or values make no sense."""


class BallModelFileError(FileError):
    """A file of a ball model is missing, damaged or of another kind."""


class WristRunFileError(FileError):
    """A file of a wrist's motion is missing, damaged or of another kind."""
