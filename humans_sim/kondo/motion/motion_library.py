# SPDX-License-Identifier: Apache-2.0
"""Motions by name: those that come with the package, or files of one's own."""

from __future__ import annotations

from pathlib import Path

from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import resource
from humans_sim.kondo.motion.motion_file import KondoMotion, read_motion


def load_motion(name: str) -> KondoMotion:
    """A motion of ``config/motions`` by its name, or the path of a .csv file.

    Raises:
        ParameterError: no motion has that name.
        MotionFileError: the file is no motion.
    """
    if Path(name).suffix == ".csv":
        return read_motion(Path(name).expanduser())
    known = sorted(path.stem for path in resource("config", "motions").glob("*.csv"))
    if name not in known:
        raise ParameterError(
            f"no motion is called '{name}' (there are: {', '.join(known)}; or give the "
            "path of a .csv file)"
        )
    return read_motion(resource("config", "motions", f"{name}.csv"))
