# SPDX-License-Identifier: Apache-2.0
"""The marker pipeline before the search for postures, in the manual's order.

Identify, fill gaps, change the frame, filter.

The frame is changed to the model's by heading and place of the person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.arrays import by_rows
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.observation.markers.filters import (
    CUTOFF,
    JUMP,
    JUMP_ACCELERATION,
    MAX_GAP,
    MOST,
    ORDER,
    fill_gaps,
    smooth_markers,
)
from humans_sim.observation.markers.marker_set import identify, load_correspondence
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.search_settings import (
    SETTINGS_KEYS,
    SmootherSettings,
    SolverSettings,
    read_settings,
)

STANDING_SAMPLES = 20
"""First samples in which the person stands."""
ANKLES = ("r_lateral_malleolus", "l_lateral_malleolus")
"""Right and left markers on the ankles."""
HIPS = ("r_trochanterion", "l_trochanterion")
"""Right and left markers on the hips."""
STILL = 0.05
"""Markers of a person that stands move less than this [m]."""
_SMALLEST = 0.02
"""Right and left markers are further apart than this [m]."""
_EXACT = 1e-4
"""A rotation matrix may be wrong by so much; it is rounded in files."""


def standing_frame(
    trial: MarkerTrial,
    ankles: Sequence[str] = ANKLES,
    hips: Sequence[str] = HIPS,
    samples: int = STANDING_SAMPLES,
    *,
    tilt: bool = False,
    ankle_height: float | None = None,
) -> pin.SE3:
    """The frame change from the laboratory's frame to the model's, of who stands there.

    In the first samples the middle of the ankles comes above the origin, and the pelvis
    faces x. The vertical stays that of the laboratory, or with ``tilt`` becomes the
    line from the middle of the ankles to the middle of the hips (right and left
    markers). The ankles get a height [m]; None: the one they have.

    Raises:
        ParameterError: a marker is not there, not seen or moves, or right and left are
            in one place.
    """
    if samples < 1:
        raise ParameterError(f"a person cannot stand for {samples} samples")
    right_ankle, left_ankle = (_place(trial, name, samples) for name in ankles)
    right_hip, left_hip = (_place(trial, name, samples) for name in hips)
    ankle, hip = (right_ankle + left_ankle) / 2, (right_hip + left_hip) / 2
    up = np.array([0.0, 0.0, 1.0])
    if tilt:
        up = _direction(hip - ankle, "the ankles and the hips")
    across = left_hip - right_hip
    left = _direction(across - (across @ up) * up, f"{hips[0]} and {hips[1]}")
    rotation = np.array([np.cross(left, up), left, up])
    place = -rotation @ ankle
    place[2] += ankle[2] if ankle_height is None else ankle_height
    return pin.SE3(rotation, place)


def change_frame(trial: MarkerTrial, transform: pin.SE3) -> MarkerTrial:
    """The trial in another frame, with its force plates."""
    if transform == pin.SE3.Identity():
        return trial
    turn, place = transform.rotation.T, transform.translation
    return replace(
        trial,
        positions=by_rows(lambda p: p @ turn + place, trial.positions),
        plates=tuple(plate.moved(transform) for plate in trial.plates),
    )


def read_frame(value: YamlValue) -> pin.SE3:
    """A frame change from YAML: ``matrix`` (4 rows), or ``translation`` and ``rpy``.

    Roll, pitch and yaw turn about the fixed axes x, y, z [°]; the translation is in
    metres. Both default to nothing.

    Raises:
        ModelFileError: it is none of these, or no rigid motion.
    """
    given = value.fields((), ("matrix", "translation", "rpy"))
    if not given:
        raise value.error("a matrix, or a translation and rpy, must be given")
    if "matrix" not in given:
        place, angles = (
            given[key].vector(3) if key in given else np.zeros(3)
            for key in ("translation", "rpy")
        )
        return pin.SE3(pin.rpy.rpyToMatrix(*np.radians(angles)), place)
    if len(given) > 1:
        raise value.error("a matrix stands alone, without translation and rpy")
    rows = given["matrix"].items()
    if len(rows) != 4:
        raise given["matrix"].error(f"must be 4 rows, not {len(rows)}")
    matrix = np.array([row.vector(4) for row in rows])
    rotation = matrix[:3, :3]
    if not np.allclose(matrix[3], (0, 0, 0, 1)):
        raise rows[3].error("the last row of a rigid motion is 0, 0, 0, 1")
    turns = np.allclose(rotation @ rotation.T, np.eye(3), atol=_EXACT)
    if not turns or np.linalg.det(rotation) < 0:
        raise given["matrix"].error("the upper left 3 by 3 numbers are no rotation")
    left, _, right = np.linalg.svd(rotation)
    return pin.SE3(left @ right, matrix[:3, 3])


def _place(trial: MarkerTrial, name: str, samples: int) -> np.ndarray:
    """Where a marker stands in the first samples (3,)."""
    positions = trial.select([name]).positions[:samples, 0]
    positions = positions[~np.isnan(positions).any(axis=1)]
    if not len(positions):
        raise ParameterError(
            f"the marker '{name}' is not seen in the first {samples} samples: name "
            "another, or give the frame change"
        )
    spread = float(np.linalg.norm(np.ptp(positions, axis=0)))
    if spread > STILL:
        raise ParameterError(
            f"the marker '{name}' moves by {spread:.3f} m in the first {samples} "
            f"samples: nobody stands there; take fewer, or give the frame change"
        )
    return np.asarray(positions.mean(axis=0))


def _direction(vector: np.ndarray, between: str) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    if length < _SMALLEST:
        raise ParameterError(f"the markers {between} are in one place: no direction")
    return np.asarray(vector / length)


FRAMES = ("recorded", "standing")
"""Frames that need no numbers."""


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
        """Check what does not depend on a trial."""
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
        table = correspondence or chosen.correspondence
        return replace(chosen, correspondence=table)

    @classmethod
    def read(cls, value: YamlValue, folder: Path) -> PipelineSettings:
        """Settings of a YAML mapping; what it does not say keeps its default.

        A correspondence file with a relative path lies in the folder.

        Raises:
            ModelFileError: a key is unknown or its value impossible.
        """
        readers: dict[str, Callable[[YamlValue], object]] = {
            "correspondence": lambda given: folder / given.text(),
            "max_gap": lambda gap: None if gap.text() == "any" else gap.positive(),
            "order": lambda given: _count(given, MOST),
            "frame": lambda f: read_frame(f) if f.is_mapping() else f.choice(FRAMES),
            **dict.fromkeys(("fill", "filter"), _truth),
            **dict.fromkeys(
                ("cutoff", "jump", "jump_acceleration"), YamlValue.positive
            ),
        }
        fields = value.fields((), (*readers, "standing", *SETTINGS_KEYS))
        chosen = {k: read(fields[k]) for k, read in readers.items() if k in fields}
        if "standing" in fields:
            chosen.update(_standing(fields["standing"]))
        chosen["solver"], chosen["smoother"] = read_settings(fields)
        return cls(**chosen)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Markers ready for the solver, and what was done on the way.

    Attributes:
        trial: the markers.
        missing: markers of the set that are not in the file.
        ignored: markers of the file that are not in the set.
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

    Names are those of the markers of the set in its order, with aliases; None takes
    all, by their own names.

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
    transform = settings.frame
    if isinstance(transform, str) and transform == "standing":
        transform = standing_frame(
            trial,
            settings.ankles,
            settings.hips,
            settings.standing_samples,
            tilt=settings.tilt,
            ankle_height=settings.ankle_height,
        )
    elif isinstance(transform, str):
        transform = pin.SE3.Identity()
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


def _standing(value: YamlValue) -> dict[str, object]:
    readers: dict[str, Callable[[YamlValue], object]] = {
        "samples": lambda given: _count(given, 1_000_000),
        "tilt": _truth,
        "ankle_height": YamlValue.number,
        **dict.fromkeys(("ankles", "hips"), _two_markers),
    }
    chosen = {
        k: readers[k](given) for k, given in value.fields((), (*readers,)).items()
    }
    if "samples" in chosen:
        chosen["standing_samples"] = chosen.pop("samples")
    return chosen


def _two_markers(value: YamlValue) -> tuple[str, ...]:
    names = tuple(item.text() for item in value.items())
    if len(names) != 2:
        raise value.error("must be a right and a left marker")
    return names


def _truth(value: YamlValue) -> bool:
    return value.choice(("true", "false")) == "true"


def _count(value: YamlValue, most: int) -> int:
    number = value.number()
    if number != int(number) or not 1 <= number <= most:
        raise value.error(f"must be a whole number from 1 to {most}, not {number:g}")
    return int(number)
