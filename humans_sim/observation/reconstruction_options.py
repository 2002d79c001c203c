# SPDX-License-Identifier: Apache-2.0
"""Options of a reconstruction, of one recording or of a batch, each written once.

:func:`humans_sim.reconstruct`, ``humans-sim reconstruct``, its batches and the action
of the node read the same fields; the commands make their options of them. Nothing heavy
is imported before it is needed: a shell asks for options while a person types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from humans_sim.core.errors import ParameterError
from humans_sim.core.settings import describe, setting

if TYPE_CHECKING:
    from humans_sim.observation.markers.assemble import ReadOptions
    from humans_sim.observation.markers.pipeline import PipelineSettings

STATIC, SMOOTH = "static", "smooth"
MODES = (STATIC, SMOOTH)
UP_CHOICES = ("x", "y", "z", "-x", "-y", "-z")
UNIT_CHOICES = ("mm", "cm", "dm", "m", "in", "ft")
STANDING, NONE = "standing", "none"
"""Frame changes that need no file."""
SCENES = ("glb", "x3d", "wrl")
FORMATS = ("csv", "mot", "osim", "trc", "mcap", "npz", "bin", "tab", *SCENES)
"""What can be written of a reconstruction."""
USUAL_FORMATS = ("csv", "mot", "npz")
"""What is written where nothing else is said."""
_HUMANS = "humans"
"""The convention of the model's own joints."""
SIZES = ("subject", "static", "height", "mass")
PERSON = (*SIZES, "marker_set")
"""Fields that say who is in a recording."""
_FILES = ("subject", "static", "pipeline", "correspondence", "force_file")
STEPS = ("pipeline", "correspondence", "max_gap", "cutoff", "frame_change")
"""Fields that change the steps of the markers before the search."""


@describe
@dataclass(frozen=True, kw_only=True)
class ReconstructionOptions:
    """How recordings are read, reconstructed and written.

    Raises:
        ParameterError: a choice is not one of those there are, or two exclude each
            other.
    """

    subject: Path | None = setting(
        None, "File of the person; default: subject.yaml beside or above."
    )
    marker_set: str | None = setting(
        None, "Name of a marker set, or a file of your own."
    )
    static: Path | None = setting(
        None, "Recording of standing still: measure the person first."
    )
    height: float | None = setting(None, "Stature in metres, if known.", above=0.0)
    mass: float | None = setting(None, "Body mass in kilograms, if known.", above=0.0)
    mode: str = setting(
        STATIC, "static: frame by frame; smooth: the whole trial.", choices=MODES
    )
    correspondence: Path | None = setting(
        None, "File that maps labels of the recordings to markers of the set."
    )
    up: str | None = setting(
        None, "Axis of the files that points up.", choices=UP_CHOICES
    )
    units: str | None = setting(
        None, "Of positions in the files.", choices=UNIT_CHOICES
    )
    rate: float | None = setting(None, "Samples a second [Hz].", above=0.0)
    start: float = setting(0.0, "First sample, in the recording's time [s].")
    end: float = setting(0.0, "Last sample [s]; 0: to the end.")
    max_gap: float | None = setting(
        None, "Longest gap to fill, in seconds; 0: none.", low=0.0
    )
    cutoff: float | None = setting(
        None, "Of the low-pass filter [Hz]; 0: no filter.", low=0.0
    )
    frame_change: str | None = setting(None, "standing, none or a .yaml file.")
    pipeline: Path | None = setting(None, "File with all choices about the markers.")
    uncertainty: bool = setting(
        True, "Standard deviations of the joints, and joints led through hidden frames."
    )
    formats: tuple[str, ...] = setting(USUAL_FORMATS, f"Of {', '.join(FORMATS)}.")
    report: bool = setting(True, "A page for each recording; it takes longest.")
    inverse_dynamics: bool = setting(
        False, "Torques and the ground's reaction.", flag="--inverse-dynamics"
    )
    force_file: Path | None = setting(
        None, "Ground forces (.mot, .sto) for these, of one recording."
    )
    plates: bool = setting(True, "Use force plates for these, where there are any.")
    reduce_residual: bool = setting(
        False,
        "Shift the body by mm to agree with the plates.",
        flag="--reduce-residuals",
    )
    convention: str = setting(
        _HUMANS,
        "Names and signs of angles: humans, opensim, rajagopal, isb, plug-in-gait, or "
        "a file of your own.",
    )
    force: bool = setting(False, "Also what cannot be this person.", flag="--force")

    def __post_init__(self) -> None:
        """Make paths of words, and check what does not depend on a trial."""
        for name in _FILES:
            path = getattr(self, name)
            if path is not None:
                object.__setattr__(self, name, Path(path).expanduser())
        if self.mode not in MODES:
            raise ParameterError(
                f"mode is one of {', '.join(MODES)}, not '{self.mode}'"
            )
        check_formats(self.formats)
        if self.convention != _HUMANS:
            from humans_sim.models.conventions import check_convention

            check_convention(self.convention)
        if not self.formats and not self.report:
            raise ParameterError("nothing is to be written: give a format or a report")
        if self.force_file is not None and not self.plates:
            raise ParameterError("a file of forces is given, and plates are excluded")
        if self.reduce_residual and not (self.inverse_dynamics or self.force_file):
            raise ParameterError("residuals are reduced with inverse dynamics only")
        if not (math.isfinite(self.start) and math.isfinite(self.end)):
            raise ParameterError("start and end must be finite")
        for name, value in (("longest gap", self.max_gap), ("cut-off", self.cutoff)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"the {name} must be 0 or more, not {value:g}")

    @property
    def reading(self) -> ReadOptions:
        """Options that the files leave open."""
        from humans_sim.observation.markers.assemble import ReadOptions

        return ReadOptions(self.up, self.units, self.rate)

    def has(self, names: Sequence[str]) -> bool:
        """Whether one of these fields is given."""
        return any(getattr(self, name) is not None for name in names)

    def steps(self) -> PipelineSettings:
        """Steps of the markers before the search; fields go before the pipeline file.

        Raises:
            HumansError: a file of settings is wrong.
        """
        from humans_sim.core.yaml_file import read_yaml
        from humans_sim.observation.markers.pipeline import PipelineSettings, read_frame

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

    def absolute(self) -> ReconstructionOptions:
        """The same with whole paths: workers may run in another folder."""
        paths = {name: getattr(self, name) for name in _FILES}
        if self.frame_change is not None and Path(self.frame_change).is_file():
            paths["frame_change"] = Path(self.frame_change)
        if not self._known_convention():
            paths["convention"] = Path(self.convention).expanduser()
        whole: dict[str, Any] = {k: str(p.resolve()) for k, p in paths.items() if p}
        return replace(self, **whole)

    def identity(self) -> dict[str, Any]:
        """Data that distinguish these options from others; files by their content.

        Who is in a recording distinguishes it by itself
        (:meth:`humans_sim.applications.person.Person.identity`).
        """
        from humans_sim.core.files import content_hash

        identity = {k: v for k, v in asdict(self).items() if k not in PERSON}
        files: dict[str, Path | str | None] = {
            "pipeline": self.pipeline,
            "correspondence": self.steps().correspondence,
            "force_file": self.force_file,
        }
        if not self._known_convention():
            files["convention"] = self.convention
        if self.frame_change not in (None, STANDING, NONE):
            files["frame_change"] = self.frame_change
        for key, path in files.items():
            identity[key] = None if path is None else content_hash(Path(path))
        return identity

    def _known_convention(self) -> bool:
        from humans_sim.models.conventions import convention_names

        return self.convention in convention_names()


def check_formats(formats: Sequence[str]) -> None:
    """Refuse unknown formats.

    Raises:
        ParameterError: one is not in :data:`FORMATS`.
    """
    for word in formats:
        if word not in FORMATS:
            raise ParameterError(
                f"'{word}' is not one of the formats {', '.join(FORMATS)}"
            )
