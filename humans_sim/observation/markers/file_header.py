# SPDX-License-Identifier: Apache-2.0
"""What a file of markers says about its laboratory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileHeader:
    """Units and axes, as the file has them and as they were read.

    Attributes:
        units: of length, e.g. mm; empty where the file has none.
        x_screen: axis to the right on the screen of the program that wrote the file,
            e.g. +X; empty where the file has none.
        y_screen: axis upwards on that screen; empty where the file has none.
        up: axis that was taken for upwards, one of x, -x, y, -y, z, -z.
    """

    units: str
    x_screen: str
    y_screen: str
    up: str
