# SPDX-License-Identifier: Apache-2.0
"""What is done to markers before a posture is sought, in the manual's order.

Identify, fill gaps, change the frame, filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.observation.markers.correspondence import identify, load_correspondence
from humans_sim.observation.markers.filters import (
    CUTOFF,
    JUMP,
    JUMP_ACCELERATION,
    MOST,
    ORDER,
    smooth_markers,
)
from humans_sim.observation.markers.frame_change import (
    ANKLES,
    HIPS,
    STANDING_SAMPLES,
    change_frame,
    read_frame,
    standing_frame,
)
from humans_sim.observation.markers.gaps import MAX_GAP, fill_gaps
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.search_settings import SmootherSettings, SolverSettings
from humans_sim.observation.search_settings_file import SETTINGS_KEYS, read_settings

FRAMES = ("recorded", "standing")
"""Frames that need no numbers."""
_KEYS = (
    "correspondence",
    "fill",
    "max_gap",
    "frame",
    "standing",
    "filter",
    "cutoff",
    "order",
    "jump",
    "jump_acceleration",
    *SETTINGS_KEYS,
)


@dataclass(frozen=True)
class PipelineSettings:
    """Choices for the steps.

    Attributes:
        correspondence: file of the markers' labels, or None.
        fill: whether gaps are filled.
        max_gap: longest gap to fill [s]; None fills any.
        frame: ``recorded`` (as it is), ``standing`` (from the first samples), or the
            transform from the laboratory's frame to the model's.
        standing_samples: samples in which the person stands.
        ankles: right and left marker on the ankles, for the standing frame.
        hips: right and left marker on the hips, for the standing frame.
        tilt: whether the standing frame takes the vertical from the markers.
        ankle_height: height the standing frame gives the ankles [m]; None keeps the
            laboratory's ground.
        filter: whether positions are low-passed.
        cutoff: of the filter [Hz].
        order: of the filter.
        jump: distance, and
        jump_acceleration: acceleration of a marker beyond which the filter parts its
            samples [m, m/s^2].
        solver: of the search for postures.
        smoother: of the mode ``smooth``.
    """

    correspondence: Path | None = None
    fill: bool = True
    max_gap: float | None = MAX_GAP
    frame: str | pin.SE3 = "recorded"
    standing_samples: int = STANDING_SAMPLES
    ankles: tuple[str, str] = ANKLES
    hips: tuple[str, str] = HIPS
    tilt: bool = False
    ankle_height: float | None = None
    filter: bool = True
    cutoff: float = CUTOFF
    order: int = ORDER
    jump: float = JUMP
    jump_acceleration: float = JUMP_ACCELERATION
    solver: SolverSettings = field(default_factory=SolverSettings)
    smoother: SmootherSettings = field(default_factory=SmootherSettings)

    def __post_init__(self) -> None:
        """Check what does not depend on a trial.

        Raises:
            ParameterError: a choice is not one of those there are.
        """
        if isinstance(self.frame, str) and self.frame not in FRAMES:
            raise ParameterError(
                f"'{self.frame}' is not one of the frames {', '.join(FRAMES)}"
            )

    @classmethod
    def load(cls, path: Path | str) -> PipelineSettings:
        """Read a YAML file of settings.

        Raises:
            ModelFileError: it cannot be read or says something impossible.
        """
        return cls.read(read_yaml(path), Path(path).parent)

    @classmethod
    def of_files(
        cls, settings: Path | str | None, correspondence: Path | None
    ) -> PipelineSettings:
        """Settings of a file, and a file of correspondences that goes before its own.

        Args:
            settings: a YAML file; None for the defaults.
            correspondence: None for that of the settings.

        Raises:
            HumansError: a file of settings is wrong.
        """
        chosen = cls() if settings is None else cls.load(settings)
        if correspondence is None:
            return chosen
        return replace(chosen, correspondence=correspondence)

    @classmethod
    def read(cls, value: YamlValue, folder: Path) -> PipelineSettings:
        """Settings of a YAML mapping; what it does not say keeps its default.

        Args:
            value: the mapping.
            folder: where a correspondence file with a relative path lies.

        Raises:
            ModelFileError: a key is unknown or its value impossible.
        """
        fields = value.fields((), _KEYS)
        chosen: dict[str, object] = {}
        if "correspondence" in fields:
            chosen["correspondence"] = folder / fields["correspondence"].text()
        for key in ("fill", "filter"):
            if key in fields:
                chosen[key] = _truth(fields[key])
        if "max_gap" in fields:
            gap = fields["max_gap"]
            chosen["max_gap"] = None if gap.text() == "any" else gap.positive()
        for key in ("cutoff", "jump", "jump_acceleration"):
            if key in fields:
                chosen[key] = fields[key].positive()
        if "order" in fields:
            chosen["order"] = _count(fields["order"], MOST)
        if "frame" in fields:
            frame = fields["frame"]
            given = frame.is_mapping()
            chosen["frame"] = read_frame(frame) if given else frame.choice(FRAMES)
        if "standing" in fields:
            chosen.update(_standing(fields["standing"]))
        chosen["solver"], chosen["smoother"] = read_settings(fields)
        return cls(**chosen)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Markers ready for the solver, and what was done on the way.

    Attributes:
        trial: the markers.
        missing: markers that were wanted and are not in the file.
        ignored: markers of the file that nobody wanted.
        transform: from the laboratory's frame to the model's.
    """

    trial: MarkerTrial
    missing: tuple[str, ...]
    ignored: tuple[str, ...]
    transform: pin.SE3


def prepare(
    trial: MarkerTrial,
    settings: PipelineSettings | None = None,
    names: Sequence[str] | None = None,
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> Prepared:
    """Identify markers, fill gaps, change the frame, filter.

    Args:
        trial: as read, z up.
        settings: choices for the steps; the defaults otherwise.
        names: markers of the set in its order; None takes all, by their own names.
        aliases: other names of markers of the set.

    Raises:
        ModelFileError: the correspondence file is wrong.
        ParameterError: a step cannot be done on this trial.
    """
    settings = PipelineSettings() if settings is None else settings
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    if names is not None:
        path = settings.correspondence
        table = None if path is None else load_correspondence(path, names)
        known = identify(trial, table, names, aliases)
        trial, missing, ignored = known.trial, known.missing, known.ignored
        del known  # it would hold the markers of a long trial a second time
    elif settings.correspondence is not None:
        raise ParameterError("a correspondence file needs the markers of a set")
    if settings.fill:
        trial = fill_gaps(trial, settings.max_gap)
    transform = _transform(trial, settings)
    trial = change_frame(trial, transform)
    if settings.filter:
        trial = smooth_markers(
            trial,
            settings.cutoff,
            settings.order,
            jump=settings.jump,
            jump_acceleration=settings.jump_acceleration,
        )
    return Prepared(trial, missing, ignored, transform)


def _transform(trial: MarkerTrial, settings: PipelineSettings) -> pin.SE3:
    if not isinstance(settings.frame, str):
        return settings.frame
    if settings.frame == "recorded":
        return pin.SE3.Identity()
    return standing_frame(
        trial,
        settings.ankles,
        settings.hips,
        settings.standing_samples,
        tilt=settings.tilt,
        ankle_height=settings.ankle_height,
    )


def _standing(value: YamlValue) -> dict[str, object]:
    keys = ("samples", "ankles", "hips", "tilt", "ankle_height")
    given = value.fields((), keys)
    chosen: dict[str, object] = {}
    if "samples" in given:
        chosen["standing_samples"] = _count(given["samples"], 1_000_000)
    for key in ("ankles", "hips"):
        if key in given:
            names = tuple(item.text() for item in given[key].items())
            if len(names) != 2:
                raise given[key].error("a right and a left marker are wanted")
            chosen[key] = names
    if "tilt" in given:
        chosen["tilt"] = _truth(given["tilt"])
    if "ankle_height" in given:
        chosen["ankle_height"] = given["ankle_height"].number()
    return chosen


def _truth(value: YamlValue) -> bool:
    return value.choice(("true", "false")) == "true"


def _count(value: YamlValue, most: int) -> int:
    number = value.number()
    if number != int(number) or not 1 <= number <= most:
        raise value.error(f"a whole number from 1 to {most} is wanted, not {number:g}")
    return int(number)
