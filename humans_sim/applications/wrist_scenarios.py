# SPDX-License-Identifier: Apache-2.0
"""Scenarios with a wrist: its bones, the motion of the hand, the method.

Also the ball model of a bone, from its mesh or a link of a URDF.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.anatomy import (
    BallModel,
    HandMotion,
    StepNumbers,
    Wrist,
    WristRun,
    ball_model,
    load_wrist,
    move_wrist,
    read_bone,
    reduce_cover,
    surface_error,
    voxelise,
)
from humans_sim.anatomy.balls.covers import ModelDeviation
from humans_sim.anatomy.volumes.mesh_repair import read_link_bone
from humans_sim.anatomy.wrist.hand_motion import AXES
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import is_file
from humans_sim.core.yaml_file import YamlValue, located_errors

METHODS: dict[str, Callable[..., WristRun]] = {"complementarity": move_wrist}
"""What moves a wrist, by name."""
SPACING = (2e-4, 3e-3)
"""Edges of voxels that are taken [m]."""
_KEYS = ("bones", "angle", "settling", "holding", "spacing", "friction", "viscosity")
_FIELDS = ("title", "time", "wrist")


@dataclass(frozen=True)
class WristSetup:
    """A motion of a wrist, before it is computed.

    Attributes:
        bones: ``wrist``, the synthetic one, or a YAML file.
        step: length of the steps; each is a sample [s].
        spacing: edge of the voxels of the ball models [m].
        cut: ligaments that are cut before.
        method: one of :data:`METHODS`.
    """

    bones: str = "wrist"
    motion: HandMotion = HandMotion()
    step: float = 0.02
    spacing: float = 1e-3
    numbers: StepNumbers = StepNumbers()
    cut: tuple[str, ...] = ()
    method: str = "complementarity"

    def __post_init__(self) -> None:
        """Refuse what cannot be, before bones are made."""
        if not SPACING[0] <= self.spacing <= SPACING[1]:
            low, high = SPACING
            raise ParameterError(
                f"spacing must be {low:g} to {high:g} m, not {self.spacing:g}"
            )
        if not 0 < self.step <= self.motion.duration:
            raise ParameterError(
                f"a step must be above 0 s and at most {self.motion.duration:g} s, not "
                f"{self.step:g}"
            )
        if self.method not in METHODS:
            known = ", ".join(METHODS)
            raise ParameterError(f"method is one of {known}, not '{self.method}'")

    @classmethod
    def of(
        cls,
        fields: Mapping[str, YamlValue],
        folder: Path,
        end: float,
        step: float,
        friction: float | None = None,
    ) -> WristSetup:
        """The settings of a scenario's file.

        Args:
            fields: of the file.
            folder: of the file; paths of bones begin there.
            end: time at the end, of which the hand is held for the last part [s].
            step: length of the steps [s].
            friction: instead of the file's.
        """
        for key in fields:
            if key not in _FIELDS:
                raise fields[key].error("a wrist knows no such thing")
        section = fields["wrist"]
        given = section.fields(("motion",), (*_KEYS, "cut", "method"))
        bones = given["bones"].text() if "bones" in given else cls.bones
        if is_file(folder / bones):
            bones = str(folder / bones)
        numbers = {
            key: given[key].number() for key in _KEYS if key != "bones" and key in given
        }
        if friction is not None:
            numbers["friction"] = friction
        usual, law = HandMotion(), StepNumbers()
        holding = numbers.get("holding", usual.holding)
        with located_errors(section):
            motion = HandMotion(
                given["motion"].choice(tuple(AXES)),
                np.radians(numbers.get("angle", 30.0)),
                end - holding,
                numbers.get("settling", usual.settling),
                holding,
            )
            return cls(
                bones,
                motion,
                step,
                numbers.get("spacing", cls.spacing),
                StepNumbers(
                    numbers.get("friction", law.friction),
                    numbers.get("viscosity", law.viscosity),
                ),
                tuple(word.text() for word in given.get("cut", ())),
                given["method"].text() if "method" in given else cls.method,
            )

    def wrist(self) -> Wrist:
        """Its bones, with ligaments cut."""
        return load_wrist(self.bones, self.spacing).cut(*self.cut)

    def run(
        self,
        progress: bool | Callable[[int, int], None] | None = None,
        save: Path | str | None = None,
        wrist: Wrist | None = None,
    ) -> WristRun:
        """Make the bones, unless they are given, and move them; write the motion."""
        wrist = self.wrist() if wrist is None else wrist
        watch = progress if callable(progress) else None
        move = METHODS[self.method]
        run = move(wrist, self.motion, self.step, self.numbers, watch)
        if save is not None:
            run.save(save)
        return run


@dataclass(frozen=True)
class BuiltModel:
    """A ball model and how it came about.

    Attributes:
        repairs: what was done to the mesh.
        error: how far it is from the mesh.
    """

    model: BallModel
    voxels: int
    repairs: tuple[str, ...]
    error: ModelDeviation


def build_ball_model(
    path: Path,
    spacing: float | None = None,
    metric: str = "euclidean",
    unit: str | None = None,
    reduced: bool = False,
    link: str = "",
    watch: Callable[[str], None] = lambda stage: None,
) -> BuiltModel:
    """Build the ball model of a bone.

    Args:
        path: a mesh, or with ``link`` a URDF.
        spacing: edge of a voxel [m]; None: half a millimetre, or 1/300 of a longer
            bone.
        metric: of the distance map.
        unit: of the mesh; None: as its size says.
        reduced: whether balls that others cover together are left out.
        link: of the URDF whose collision mesh is the bone.
        watch: called with each stage as it begins; what it raises ends the work.

    Raises:
        HumansError: there is no such mesh, or it bounds no bone.
    """
    watch("reads the mesh")
    prepared = read_link_bone(path, link) if link else read_bone(path, unit)
    if spacing is None:
        spacing = max(5e-4, float(max(prepared.mesh.extents)) / 300)
    watch("finds voxels")
    volume = voxelise(prepared.mesh, spacing)
    watch("finds balls")
    model = ball_model(volume, metric)
    if reduced:
        watch("leaves out covered balls")
        model = reduce_cover(model)
    watch("measures the distance from the mesh")
    error = surface_error(model, prepared.mesh)
    return BuiltModel(model, volume.count, prepared.repairs, error)
