# SPDX-License-Identifier: Apache-2.0
"""A reconstructed motion: postures, their residuals to the markers, and a verdict.

Files (``.npz``) hold everything, to be loaded again.

Of the recording, events, notes and what the file said of itself go to the header;
channels and plates are arrays, those of all plates one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.core.arrays import by_rows, release, row_slices
from humans_sim.core.errors import MALFORMED_CONTENT, HumansError
from humans_sim.core.npz_file import read_npz, write_npz
from humans_sim.models.angles import JointAngles, joint_angles
from humans_sim.models.catalogue import load_model
from humans_sim.models.conventions import HUMANS
from humans_sim.models.files.named_models import is_packaged
from humans_sim.models.model import Model
from humans_sim.observation.markers.assemble import FARTHEST, HIGHEST_RATE, LOWEST_RATE
from humans_sim.observation.markers.force_plate import ForcePlate
from humans_sim.observation.markers.trial import (
    AnalogChannels,
    FileHeader,
    MarkerFileError,
    MarkerTrial,
    TrialEvent,
)
from humans_sim.observation.posture.opensim_files import write_mot

PART_ARRAYS = (
    "analog_values",
    "plate_corners",
    "plate_origins",
    "plate_times",
    "plate_wrenches",
)
"""Arrays that a file may lack."""
_KEYS = ("events", "notes", "plates")


def describe_parts(trial: MarkerTrial) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Entries of the header, and arrays by name, of :data:`PART_ARRAYS`."""
    analog, plates = trial.analog, trial.plates
    header: dict[str, Any] = {
        "events": [[event.time, event.label, event.context] for event in trial.events],
        "notes": list(trial.notes),
        "plates": [[plate.name, len(plate.times)] for plate in plates],
    }
    arrays: dict[str, np.ndarray] = {}
    if trial.header is not None:
        header["file"] = asdict(trial.header)
    if analog is not None:
        header["analog"] = {
            "names": list(analog.names),
            "units": list(analog.units),
            "rate": float(analog.rate),
            "start": float(analog.start),
        }
        arrays["analog_values"] = analog.values
    if plates:
        arrays["plate_corners"] = np.array([plate.corners for plate in plates])
        arrays["plate_origins"] = np.array([plate.origin for plate in plates])
        arrays["plate_times"] = np.concatenate([plate.times for plate in plates])
        arrays["plate_wrenches"] = np.concatenate([plate.wrench for plate in plates])
    return header, arrays


def read_parts(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arguments of a :class:`MarkerTrial`; files of older versions have none.

    Raises:
        ValueError: the entries are not as they were written.
        HumansError: channels or plates cannot be.
    """
    for key in _KEYS:
        if not isinstance(header.get(key, []), list):
            raise ValueError(f"its {key} are no list")
    for name in PART_ARRAYS:
        if name in arrays and arrays[name].dtype.kind != "f":
            raise ValueError(f"{name} holds numbers of another kind")
    file, words = header.get("file"), ("units", "x_screen", "y_screen", "up")
    about = None if file is None else FileHeader(*(_text(file[word]) for word in words))
    return {
        "events": tuple(
            TrialEvent(_number(time), _text(label), _text(context))
            for time, label, context in header.get("events", [])
        ),
        "notes": tuple(_text(note) for note in header.get("notes", [])),
        "analog": _analog(header.get("analog"), arrays),
        "plates": _plates(header.get("plates", []), arrays),
        "header": about,
    }


def _analog(entry: Any, arrays: dict[str, np.ndarray]) -> AnalogChannels | None:
    if entry is None:
        return None
    names, units = (
        tuple(_text(word) for word in entry[key]) for key in ("names", "units")
    )
    rate = _number(entry["rate"])
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise ValueError(f"channels at {rate:g} Hz")
    values = arrays["analog_values"]
    if np.isinf(values).any():
        raise ValueError("a channel is infinite")
    return AnalogChannels(names, units, rate, values, _number(entry["start"]))


def _plates(
    entries: list[Any], arrays: dict[str, np.ndarray]
) -> tuple[ForcePlate, ...]:
    if not entries:
        return ()
    count = len(entries)
    corners, origins = arrays["plate_corners"], arrays["plate_origins"]
    times, wrenches = arrays["plate_times"], arrays["plate_wrenches"]
    lengths = [length for _, length in entries]
    if any(type(length) is not int or length < 0 for length in lengths):
        raise ValueError("a plate has no count of samples")
    for array, shape in (
        (corners, (count, 4, 3)),
        (origins, (count, 3)),
        (times, (sum(lengths),)),
        (wrenches, (sum(lengths), 6)),
    ):
        if array.shape != shape:
            raise ValueError(f"{count} plates have arrays of shape {array.shape}")
    places = np.concatenate([corners.reshape(-1, 3), origins])
    if not (np.abs(places) <= FARTHEST).all() or np.isinf(wrenches).any():
        raise ValueError("a plate or its force is far away")
    ends = np.cumsum(lengths)[:-1]
    names = [_text(entry[0]) for entry in entries]
    series = np.split(times, ends), np.split(wrenches, ends)
    parts = zip(names, corners, origins, *series, strict=True)
    return tuple(
        ForcePlate(name, c, o, t, w[:, :3], w[:, 3:]) for name, c, o, t, w in parts
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]!r} is no text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:40]!r} is no number")
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number")
    return float(value)


FORMAT = 1
TRIAL_ARRAYS = {"times": "f", "positions": "f", "frames": "iu", "filled": "b"}
POSTURE_ARRAYS = {
    "q": "f",
    "differences": "f",
    "status": "iu",
    "converged": "b",
    "iterations": "iu",
    "solve_times": "f",
}
UNCERTAINTY_ARRAYS = {"std": "f", "bridged": "b"}
"""Arrays of a file with the kinds of their numbers, in numpy's letters; those of
uncertainty may lack."""
LABELS = ("missing", "ignored", "doubts")
"""Lists of the header that files of this format may lack."""


def _described(model: Model) -> dict[str, Any]:
    """The description that makes the same model again."""
    parts = model.parts
    name = model.name if is_packaged(parts) else str(parts.source)
    if not parts.from_table:
        return {"name": name}
    sizes = {"h": "height", "m": "mass"}
    return {
        "name": name,
        **{sizes[k]: float(v) for k, v in parts.parameters.items() if k in sizes},
        "lengths": {k: float(v) for k, v in parts.given_lengths.items()},
        "tags": {k: np.asarray(v).tolist() for k, v in parts.given_tags.items()},
    }


class MarkerStatus(IntEnum):
    """The status of a marker in one frame; numbers as in the ROS message."""

    USED = 0
    OCCLUDED = 1
    INTERPOLATED = 2
    REJECTED = 3
    UNKNOWN = 4


def holds(status: np.ndarray) -> np.ndarray:
    """Which markers hold the posture, measured or filled in, by their status."""
    return (status == MarkerStatus.USED) | (status == MarkerStatus.INTERPOLATED)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Postures of a person found from markers.

    Attributes:
        model: the person's model.
        trial: the markers used, after filters and in the order of ``names``.
        q: configurations (n, nq).
        differences: measured minus reconstructed (n, m, 3) [m]; NaN where not seen.
        status: of each marker (n, m), numbers of :class:`MarkerStatus`.
        converged: whether the solver ended at a minimum (n,).
        iterations: of the solver (n,).
        solve_times: wall time of each frame, averaged over a few (n,) [s].
        unobservable: joints that no marker of the trial can see; they stay near rest.
        mode: ``static`` or ``smooth``.
        doubts: what a look at the recording before speaks against it.
        missing: markers of the set that the recording does not have.
        ignored: labels of the recording that the set does not have.
        std: standard deviations of the coordinates (n, nv): base along the world's
            axes [m], base about them [rad], joints [rad]; None: not worked out.
        noise: of a marker of weight 1, one axis, from the residuals [m]; NaN: not
            worked out.
        bridged: joints that the markers of a frame do not show, interpolated by their
            motion before and after (n, nv - 6); None: none.
    """

    model: Model
    trial: MarkerTrial
    q: np.ndarray
    differences: np.ndarray
    status: np.ndarray
    converged: np.ndarray
    iterations: np.ndarray
    solve_times: np.ndarray
    unobservable: tuple[str, ...]
    mode: str
    doubts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    std: np.ndarray | None = None
    noise: float = float("nan")
    bridged: np.ndarray | None = None

    @property
    def t(self) -> np.ndarray:
        """Times of the frames (n,) [s]."""
        return self.trial.times

    @property
    def names(self) -> tuple[str, ...]:
        """Markers, one column each."""
        return self.trial.names

    @property
    def residuals(self) -> np.ndarray:
        """Distances, measured to reconstructed (n, m) [m]; NaN where not seen."""
        return by_rows(lambda d: np.linalg.norm(d, axis=2), self.differences)

    @property
    def occluded(self) -> np.ndarray:
        """Markers that were not seen, interpolated ones included (n, m)."""
        return np.asarray((self.status == MarkerStatus.OCCLUDED) | self.trial.filled)

    @property
    def used(self) -> np.ndarray:
        """Markers that hold the posture (n, m)."""
        return holds(self.status)

    @property
    def rejected(self) -> np.ndarray:
        """Markers that were left aside, too far from their places (n, m)."""
        return np.asarray(self.status == MarkerStatus.REJECTED)

    @cached_property
    def verdict(self) -> Verdict:
        """How far the result can be relied on: good, doubtful or failed, and why."""
        return judge(self)

    @property
    def rms(self) -> float:
        """Root mean square distance over all markers used [m]."""
        total, count = self._sums(2, 1)
        return float(np.sqrt(_share(total.sum(), count.sum())))

    @property
    def frame_rms(self) -> np.ndarray:
        """Root mean square distance of each frame (n,) [m]; NaN without markers."""
        return np.asarray(np.sqrt(_share(*self._sums(2, 1))))

    @property
    def marker_rms(self) -> np.ndarray:
        """Root mean square distance of each marker (m,) [m]; NaN for one never used."""
        return np.asarray(np.sqrt(_share(*self._sums(2, 0))))

    @property
    def marker_means(self) -> np.ndarray:
        """Mean distance of each marker (m,) [m]; NaN for one never used."""
        return _share(*self._sums(1, 0))

    def worst_frames(self, count: int = 5) -> np.ndarray:
        """Rows of the frames with the largest rms, worst first."""
        rms = np.nan_to_num(self.frame_rms, nan=-1.0)
        return np.asarray(np.argsort(-rms, kind="stable")[:count])

    def joint(self, name: str) -> np.ndarray:
        """Angle of a joint over time (n,) [rad]."""
        return np.asarray(self.q[:, 7 + self.model.joint_names.index(name)])

    def angles(self, convention: str | Path = HUMANS) -> JointAngles:
        """Angles as a convention names and counts them.

        Args:
            convention: ``humans``, ``opensim``, ``rajagopal``, ``isb``,
                ``plug-in-gait`` or the path of one's own.
        """
        return joint_angles(self.model, self.q, convention)

    def joint_std(self, name: str) -> np.ndarray:
        """Standard deviation of a joint over time (n,) [rad]; NaN: not worked out."""
        if self.std is None:
            return np.full(len(self.q), np.nan)
        return np.asarray(self.std[:, 6 + self.model.joint_names.index(name)])

    def save(self, path: Path | str) -> Path:
        """Write everything (``.npz``); :func:`humans_sim.load_reconstruction` reads it.

        It is written whole or not at all. The model is stored by its name and its
        sizes, one from a URDF by its path.

        Returns:
            The path.
        """
        trial = self.trial
        parts, part_arrays = describe_parts(trial)
        header = {
            "format": FORMAT,
            "kind": "reconstruction",
            "model": _described(self.model),
            "names": list(trial.names),
            "source": None if trial.source is None else str(trial.source),
            "unobservable": list(self.unobservable),
            "mode": self.mode,
            "noise": self.noise if math.isfinite(self.noise) else None,
            **{key: list(getattr(self, key)) for key in LABELS},
            **parts,
        }
        arrays = {name: getattr(trial, name) for name in TRIAL_ARRAYS} | part_arrays
        for name in (*POSTURE_ARRAYS, *UNCERTAINTY_ARRAYS):
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        if trial.camera_residuals is not None:
            arrays["camera_residuals"] = trial.camera_residuals
        return write_npz(Path(path), header, arrays)

    def to_mot(self, path: Path | str, convention: str | Path = HUMANS) -> Path:
        """Write the motion for OpenSim (``.mot``), with the names of a convention."""
        return write_mot(self, path, convention)

    def _sums(self, power: int, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Sums over markers used of a power of their distances, and how many.

        Added over axis 0 they are one a marker, over axis 1 one a frame.
        """
        parts, counts = [], []
        for rows in row_slices(len(self.q)):
            used = holds(self.status[rows])
            distances = np.linalg.norm(self.differences[rows], axis=2)
            used &= ~np.isnan(distances)
            parts.append((np.where(used, distances, 0.0) ** power).sum(axis=axis))
            counts.append(used.sum(axis=axis))
        release(self.differences)
        if axis == 1:
            return np.concatenate(parts), np.concatenate(counts)
        return np.asarray(np.sum(parts, axis=0)), np.asarray(np.sum(counts, axis=0))


def _share(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """A mean; NaN where there is nothing."""
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


GOOD, DOUBTFUL, FAILED = "good", "doubtful", "failed"
"""Grades of a reconstruction."""
GOOD_FIT, BAD_FIT = 0.02, 0.04
"""Rms distances up to which a fit is good, and above which it failed [m]."""
_OFF = 0.045
"""Mean distance of a marker that is not where its label says [m]."""
_REJECTED = 0.25
"""Share of its frames in which such a marker is rejected."""
_UNSETTLED, _LOST = 0.1, 0.5
"""Shares of frames without a minimum: of a doubtful result, of a failed one."""
_FEW = 0.6
"""Share of the markers that hold a posture; fewer are few."""
_FEW_FRAMES = 0.1
_FILLED, _UNSEEN = 0.2, 0.2
"""Shares of interpolated and of missing samples from which a result is doubtful."""
_AT_LIMIT, _LIMIT_FRAMES = 1e-3, 0.2
"""Distance to a limit that is at it [rad]; share of frames that is too often."""
_HIDDEN_FRAMES = 0.2
"""Share of frames in which a joint may be hidden."""
_LISTED = 6


@dataclass(frozen=True)
class Verdict:
    """A grade, and why it is no better.

    Attributes:
        grade: ``good``, ``doubtful`` (look at it before you use it) or ``failed``.
        reasons: for a grade that is not good.
    """

    grade: str
    reasons: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether nothing speaks against the result."""
        return self.grade == GOOD

    def __str__(self) -> str:
        """The grade with its reasons."""
        return self.grade + (f": {'; '.join(self.reasons)}" if self.reasons else "")


def judge(result: Reconstruction) -> Verdict:
    """The verdict on a reconstruction."""
    failures = list(_failures(result))
    reasons = (*failures, *result.doubts, *_doubts(result))
    grade = FAILED if failures else DOUBTFUL if reasons else GOOD
    return Verdict(grade, reasons)


def _failures(result: Reconstruction) -> Iterable[str]:
    if not np.isfinite(result.rms):
        yield "no marker was used"
        return
    if result.rms > BAD_FIT:
        yield f"the rms distance is {1e3 * result.rms:.0f} mm"
    unsettled = 1.0 - float(np.mean(result.converged))
    if unsettled > _LOST:
        yield f"{100 * unsettled:.0f} % of the frames ended at no minimum"


def _doubts(result: Reconstruction) -> Iterable[str]:
    if GOOD_FIT < result.rms <= BAD_FIT:
        yield f"the rms distance is {1e3 * result.rms:.0f} mm"
    names = np.array(result.names)
    seen = ~np.isnan(result.residuals)
    rejected = result.rejected.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    off = (np.nan_to_num(result.marker_means) > _OFF) | (rejected > _REJECTED)
    if off.any():
        yield f"markers are not where their labels say: {_listed(names[off])}"
    unsettled = 1.0 - float(np.mean(result.converged))
    if _UNSETTLED < unsettled <= _LOST:
        yield f"{100 * unsettled:.0f} % of the frames ended at no minimum"
    few = result.used.sum(axis=1) < _FEW * len(names)
    if few.mean() > _FEW_FRAMES:
        yield f"{100 * few.mean():.0f} % of the frames have few markers"
    filled, unseen = result.trial.filled.mean(), (~seen).mean()
    if filled > _FILLED:
        yield f"{100 * filled:.0f} % of the samples are interpolated"
    if unseen > _UNSEEN:
        yield f"{100 * unseen:.0f} % of the samples were not seen"
    angles, model = result.q[:, 7:], result.model
    at = angles < np.asarray(model.lower_limits) + _AT_LIMIT
    at |= angles > np.asarray(model.upper_limits) - _AT_LIMIT
    hidden = np.zeros_like(at) if result.bridged is None else result.bridged
    for what, frames, limit in (
        ("joints are at their limits", at, _LIMIT_FRAMES),
        ("markers do not show joints, which are interpolated", hidden, _HIDDEN_FRAMES),
    ):
        # Joints that no marker sees stay near rest, wherever that is.
        shares = zip(model.joint_names, frames.mean(axis=0).tolist(), strict=True)
        joints = [
            f"{name} ({100 * share:.0f} %)"
            for name, share in shares
            if share > limit and name not in result.unobservable
        ]
        if joints:
            yield f"{what}: {_listed(joints)}"


def _listed(words: Iterable[str]) -> str:
    words = list(words)
    return ", ".join(words[:_LISTED]) + (", ..." if len(words) > _LISTED else "")


def is_reconstruction(path: Path | str) -> bool:
    """Whether a file is a reconstruction, by its header; others may be anything."""
    try:
        header, _ = read_npz(Path(path), MarkerFileError, "", ())
    except MarkerFileError:
        return False
    return isinstance(header, dict) and header.get("kind") == "reconstruction"


def load_reconstruction(path: Path | str) -> Reconstruction:
    """Read what :meth:`Reconstruction.save` wrote.

    Args:
        path: the file, ``.npz``.

    Raises:
        MarkerFileError: the file is missing, damaged or of another kind.
    """
    path = Path(path)
    header, arrays = read_npz(
        path,
        MarkerFileError,
        "a stored reconstruction",
        (*TRIAL_ARRAYS, *POSTURE_ARRAYS),
        ("camera_residuals", *PART_ARRAYS, *UNCERTAINTY_ARRAYS),
    )
    try:
        if (header["kind"], header["format"]) != ("reconstruction", FORMAT):
            raise ValueError(
                f"it is a {str(header['kind'])[:20]} of format "
                f"{str(header['format'])[:20]}, and this software reads "
                f"reconstructions of format {FORMAT}"
            )
        return _put_together(header, arrays, arrays.pop("camera_residuals", None))
    except (*MALFORMED_CONTENT, HumansError) as error:
        raise MarkerFileError(f"not a stored reconstruction: {error}", path) from None


def _put_together(
    header: dict[str, Any], arrays: dict[str, np.ndarray], cameras: np.ndarray | None
) -> Reconstruction:
    model = _loaded(header["model"])
    source = header["source"]
    header = {**dict.fromkeys(LABELS, []), **header}  # older files have none
    for key in ("names", "unobservable", *LABELS):
        if not isinstance(header[key], list):
            raise ValueError(f"its {key} are no list")
    kinds_of = {**TRIAL_ARRAYS, **POSTURE_ARRAYS, **UNCERTAINTY_ARRAYS}
    for name, kinds in kinds_of.items():
        if name in arrays and arrays[name].dtype.kind not in kinds:
            raise ValueError(f"{name} holds numbers of another kind")
    stored: dict[str, Any] = {name: arrays[name] for name in TRIAL_ARRAYS}
    trial = MarkerTrial(
        names=tuple(map(str, header["names"])),
        **stored,
        camera_residuals=cameras,
        source=None if source is None else Path(str(source)),
        **read_parts(header, arrays),
    )
    n, m = len(trial), len(trial.names)
    for name, shape in (
        ("q", (n, model.nq)),
        ("differences", (n, m, 3)),
        ("status", (n, m)),
        ("converged", (n,)),
        ("iterations", (n,)),
        ("solve_times", (n,)),
        ("std", (n, model.nv)),
        ("bridged", (n, model.nv - 6)),
    ):
        if name in arrays and arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
    if not np.isin(arrays["status"], [int(word) for word in MarkerStatus]).all():
        raise ValueError("a marker has an unknown status")
    if np.isinf(arrays["differences"]).any() or (arrays["iterations"] < 0).any():
        raise ValueError("a difference or a count cannot be")
    for q in arrays["q"]:
        model.check_configuration(q)
    if "std" in arrays and not (arrays["std"] >= 0).all():
        raise ValueError("a standard deviation cannot be")
    stored_names = (*POSTURE_ARRAYS, *UNCERTAINTY_ARRAYS)
    parts: dict[str, Any] = {k: arrays[k] for k in stored_names if k in arrays}
    noise = header.get("noise")
    parts["noise"] = float("nan") if noise is None else float(noise)
    for key in ("unobservable", *LABELS):
        parts[key] = tuple(map(str, header[key]))
    return Reconstruction(model=model, trial=trial, mode=str(header["mode"]), **parts)


def _loaded(described: dict[str, Any]) -> Model:
    known = ("height", "mass", "lengths", "tags")
    return load_model(
        str(described["name"]),
        xacro=False,
        **{k: described[k] for k in known if k in described},
    )
