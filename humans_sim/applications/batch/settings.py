# SPDX-License-Identifier: Apache-2.0
"""How the recordings of a batch are read, reconstructed and written."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from humans_sim.applications.reconstruction_files import USUAL_FORMATS, check_formats
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import content_hash
from humans_sim.core.yaml_file import read_yaml
from humans_sim.models.conventions import (
    HUMANS,
    check_convention,
    convention_names,
)
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.frame_change import read_frame
from humans_sim.observation.markers.pipeline import PipelineSettings
from humans_sim.observation.posture.reconstruct import MODES, STATIC

STANDING, NONE = "standing", "none"
"""Frame changes that need no file."""


@dataclass(frozen=True)
class TrialSettings:
    """How trials are read, reconstructed and written.

    Attributes:
        mode: ``static`` or ``smooth``.
        up: axis of the files that points up; None: what they say.
        units: of the files; None: what they say.
        rate: samples a second; None: what they say [Hz].
        force: whether recordings are done that cannot be the person.
        pipeline: file of :class:`PipelineSettings`; what follows goes before it.
        correspondence: file of the markers' labels.
        max_gap: longest gap that is filled [s]; 0: none.
        cutoff: of the low-pass filter [Hz]; 0: no filter.
        frame_change: ``standing``, ``none`` or the file of a frame change.
        formats: what is written, of ``reconstruction_files.FORMATS``.
        report: whether a page is written too.
        inverse_dynamics: whether torques and the ground's reaction are worked out.
        force_file: file of the ground's forces for these, instead of the recording's.
        plates: whether force plates are used for these.
        reduce_residual: whether the body is shifted to agree with the plates.
        convention: names and signs of angles: one of the package, or a file's path.
    """

    mode: str = STATIC
    up: str | None = None
    units: str | None = None
    rate: float | None = None
    force: bool = False
    pipeline: Path | None = None
    correspondence: Path | None = None
    max_gap: float | None = None
    cutoff: float | None = None
    frame_change: str | None = None
    formats: tuple[str, ...] = USUAL_FORMATS
    report: bool = True
    inverse_dynamics: bool = False
    force_file: Path | None = None
    plates: bool = True
    reduce_residual: bool = False
    convention: str = HUMANS

    def __post_init__(self) -> None:
        """Check what does not depend on a trial.

        Raises:
            ParameterError: a choice is not one of those there are.
        """
        if self.mode not in MODES:
            raise ParameterError(
                f"mode is one of {', '.join(MODES)}, not '{self.mode}'"
            )
        check_formats(self.formats)
        check_convention(self.convention)
        if not self.formats and not self.report:
            raise ParameterError("nothing is to be written: give a format or a report")
        if self.force_file is not None and not self.plates:
            raise ParameterError("a file of forces is given, and plates are excluded")
        if self.reduce_residual and not (self.inverse_dynamics or self.force_file):
            raise ParameterError("residuals are reduced with inverse dynamics only")
        for name, value in (("longest gap", self.max_gap), ("cut-off", self.cutoff)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"the {name} must be 0 or more, not {value:g}")

    @property
    def reading(self) -> ReadOptions:
        """What the files leave open."""
        return ReadOptions(self.up, self.units, self.rate)

    def steps(self) -> PipelineSettings:
        """What is done to the markers before.

        Raises:
            HumansError: a file of settings is wrong.
        """
        chosen = PipelineSettings.of_files(self.pipeline, self.correspondence)
        if self.max_gap is not None:
            fill = self.max_gap > 0
            chosen = replace(chosen, fill=fill, max_gap=self.max_gap if fill else None)
        if self.cutoff is not None:
            low_pass = self.cutoff > 0
            cutoff = self.cutoff if low_pass else chosen.cutoff
            chosen = replace(chosen, filter=low_pass, cutoff=cutoff)
        if self.frame_change == NONE:
            chosen = replace(chosen, frame="recorded")
        elif self.frame_change == STANDING:
            chosen = replace(chosen, frame=STANDING)
        elif self.frame_change is not None:
            if Path(self.frame_change).suffix not in (".yaml", ".yml"):
                raise ParameterError(
                    f"a frame change is {STANDING}, {NONE} or a .yaml file, not "
                    f"'{self.frame_change}'"
                )
            chosen = replace(chosen, frame=read_frame(read_yaml(self.frame_change)))
        if self.force_file is not None and chosen.frame != "recorded":
            raise ParameterError(
                "a file of forces is in the frame of the recording: it excludes a "
                "frame change"
            )
        return chosen

    def identity(self) -> dict[str, Any]:
        """What distinguishes these settings from others; files by their content."""
        identity = asdict(self)
        correspondence = self.steps().correspondence
        for key, path in (
            ("pipeline", self.pipeline),
            ("correspondence", correspondence),
            ("force_file", self.force_file),
        ):
            identity[key] = None if path is None else content_hash(path)
        if self.convention not in convention_names():
            identity["convention"] = content_hash(Path(self.convention))
        if self.frame_change not in (None, STANDING, NONE):
            identity["frame_change"] = content_hash(Path(str(self.frame_change)))
        return identity
