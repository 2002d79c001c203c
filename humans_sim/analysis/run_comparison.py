# SPDX-License-Identifier: Apache-2.0
"""Two runs of one system compared: their numbers, and how far they part.

Also the observer along a stored run, beside the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.analysis.gait import WalkSummary
from humans_sim.core.errors import ParameterError, UnknownModelError
from humans_sim.models import Model
from humans_sim.models.legs import load_tags, tag_of
from humans_sim.observation.base.observer import BaseEstimate, BaseObserver
from humans_sim.results.export import has_free_base
from humans_sim.results.record import Coordinates, shown_coordinates
from humans_sim.results.records import IMPACT
from humans_sim.results.run import Run, load_run

_WALK = {
    "distance": ("distance", "m"),
    "forward": ("ahead", "m"),
    "sideways": ("to the left", "m"),
    "speed": ("speed", "m/s"),
    "largest_tilt": ("largest tilt of the base", "rad"),
    "largest_load": ("largest load on a sole", "N"),
    "zmp_median": ("median distance of the ZMP to the edge", "m"),
    "largest_slip": ("largest slip", "m"),
    "work_done": ("work done by the joints", "J"),
    "cost_of_transport": ("cost of transport", "1"),
    "fall_time": ("time of the fall", "s"),
}
"""Numbers of a walk's summary that are compared: their names and units."""


@dataclass(frozen=True)
class ComparedValue:
    """One number of both runs by name; NaN where a run does not determine it.

    Its unit is ``1`` for counts and ratios.
    """

    name: str
    unit: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        """The second minus the first."""
        return self.b - self.a


@dataclass(frozen=True)
class CoordinateDifference:
    """How far a coordinate of two runs parts, over their common time.

    Attributes:
        unit: ``m`` or ``rad``; empty where it is not known.
        largest: the largest difference, second minus first, with its sign.
        time: when that is [s].
    """

    name: str
    unit: str
    rms: float
    largest: float
    time: float


@dataclass(frozen=True)
class RunComparison:
    """Two runs of one system.

    Attributes:
        a: the first run.
        b: the second run.
        labels: what the runs are called.
        verdicts: what became of each, as words.
        t: times at which they are compared, within the time that both have: samples of
            the run that has fewer there (n,) [s].
        values: numbers of both.
        coordinates: differences of joints and other coordinates, in their order.
        differences: second minus first (n, k) [m, rad].
    """

    a: Run
    b: Run
    labels: tuple[str, str]
    verdicts: tuple[str, str]
    t: np.ndarray
    values: tuple[ComparedValue, ...]
    coordinates: tuple[CoordinateDifference, ...]
    differences: np.ndarray

    @property
    def identical(self) -> bool:
        """Whether no coordinate differs at any common time."""
        return not self.differences.any()

    def table(self) -> str:
        """The comparison as a text for people."""
        rows = [("", *self.labels, "difference")]
        rows.append(("outcome", *self.verdicts, ""))
        for value in self.values:
            rows.append((value.name, *value_texts(value)))
        rows += [("", "", "", ""), ("coordinate", "rms", "largest", "at [s]")]
        rows += [(c.name, *difference_texts(c)) for c in self.coordinates]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [
            f"{row[0]:<{widths[0]}}"
            + "".join(
                f"  {cell:>{wide}}"
                for cell, wide in zip(row[1:], widths[1:], strict=True)
            )
            for row in rows
        ]
        return "\n".join(line.rstrip() for line in lines)


def compare_runs(
    a: Run | Path | str, b: Run | Path | str, labels: tuple[str, str] | None = None
) -> RunComparison:
    """Compare two runs of one system, over the time that both have.

    Args:
        a: a run, or the file of one.
        b: another.
        labels: what they are called; names of the files, or ``a`` and ``b``.

    Raises:
        ParameterError: they are of different systems, or have no common time.
        RunFileError: a file is missing, damaged or no run.
    """
    names = _labels(a, b) if labels is None else labels
    first, second = (
        run if isinstance(run, Run) else load_run(run, lazy=True) for run in (a, b)
    )
    _check_alike(first, second)
    t = common_times(first.t, second.t)
    shown = [shown_coordinates(run) for run in (first, second)]
    differences = _differences(t, (first.t, second.t), shown)
    worst = np.argmax(np.abs(differences), axis=0)
    coordinates = [
        CoordinateDifference(
            name,
            unit,
            float(np.sqrt(np.mean(differences[:, k] ** 2))),
            float(differences[worst[k], k]),
            float(t[worst[k]]),
        )
        for k, (name, unit) in enumerate(zip(*shown[0][:2], strict=True))
    ]
    summaries = [_summary(run) for run in (first, second)]
    return RunComparison(
        first,
        second,
        names,
        (_verdict(summaries[0]), _verdict(summaries[1])),
        t,
        tuple(_values(first, second, summaries)),
        tuple(coordinates),
        differences,
    )


def common_times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Samples within the time that both have, of the one that has fewer there [s].

    Raises:
        ParameterError: there is no common time.
    """
    start, end = max(a[0], b[0]), min(a[-1], b[-1])
    if end < start:
        raise ParameterError(
            f"the runs have no common time: {a[0]:.6g} s to {a[-1]:.6g} s, and "
            f"{b[0]:.6g} s to {b[-1]:.6g} s"
        )
    inside = [t[(t >= start) & (t <= end)] for t in (a, b)]
    inside = [times for times in inside if len(times)] or [np.array([start])]
    return np.unique(min(inside, key=len))


def value_texts(value: ComparedValue) -> tuple[str, str, str]:
    """Both numbers and their difference, for people; angles in degrees."""
    if value.unit == "1" and value.a.is_integer() and value.b.is_integer():
        a, b = int(value.a), int(value.b)
        return str(a), str(b), f"{b - a:+d}" if b != a else "0"
    scale, unit = (math.degrees(1), "°") if value.unit == "rad" else (1.0, value.unit)
    unit = "" if unit == "1" else f" {unit}".replace(" °", "°")
    texts = [
        "n/a" if not math.isfinite(number) else f"{scale * number:.5g}{unit}"
        for number in (value.a, value.b)
    ]
    change = value.difference
    sign = "+" if change else ""
    texts.append(f"{scale * change:{sign}.3g}{unit}" if math.isfinite(change) else "")
    return texts[0], texts[1], texts[2]


def difference_texts(coordinate: CoordinateDifference) -> tuple[str, str, str]:
    """Root mean square, largest difference and its time, for people."""
    turns = coordinate.unit == "rad"
    scale, unit = (math.degrees(1), "°") if turns else (1.0, f" {coordinate.unit}")
    return (
        f"{scale * coordinate.rms:.3g}{unit}",
        f"{scale * coordinate.largest:+.3g}{unit}",
        f"{coordinate.time:.3f}",
    )


def _labels(a: Run | Path | str, b: Run | Path | str) -> tuple[str, str]:
    names = tuple(
        letter if isinstance(run, Run) else Path(run).stem
        for run, letter in ((a, "a"), (b, "b"))
    )
    if names[0] != names[1]:
        return names[0], names[1]
    return f"{names[0]} (a)", f"{names[1]} (b)"


def _check_alike(a: Run, b: Run) -> None:
    systems = [str(run.info.get("system", "run")) for run in (a, b)]
    own = [set(run.position_names) for run in (a, b)]
    if systems[0] != systems[1] or a.position_names != b.position_names:
        other = ", ".join(sorted(own[0] ^ own[1])[:6])
        what = f"; only one has {other}" if other else ""
        raise ParameterError(
            f"runs of one system can be compared, not of '{systems[0]}' and "
            f"'{systems[1]}'{what}"
        )


def _differences(
    t: np.ndarray, times: Sequence[np.ndarray], shown: Sequence[Coordinates]
) -> np.ndarray:
    """Second minus first at some times, between samples along straight lines (n, k)."""
    first, second = (
        np.stack([np.interp(t, own, column) for column in each.values.T], axis=1)
        for own, each in zip(times, shown, strict=True)
    )
    difference = second - first
    turns = np.array(shown[0].turns, dtype=bool)
    part = difference[:, turns]
    difference[:, turns] = part - 2 * np.pi * np.round(part / (2 * np.pi))
    return np.asarray(difference)


def _summary(run: Run) -> WalkSummary | None:
    if not has_free_base(run):
        return None
    try:
        return WalkSummary.of_run(run)
    except UnknownModelError:  # its file is gone: the coordinates are still there
        return None


def _verdict(summary: WalkSummary | None) -> str:
    return "simulated" if summary is None else summary.verdict


def _values(
    a: Run, b: Run, summaries: Sequence[WalkSummary | None]
) -> list[ComparedValue]:
    both = [_numbers(run) for run in (a, b)]
    values = [
        ComparedValue(name, unit, both[0][name, unit], both[1][name, unit])
        for name, unit in both[0]
    ]
    first, second = summaries
    if first is None or second is None:
        return values
    walk = [
        ComparedValue("steps", "1", *(float(len(s.steps)) for s in (first, second)))
    ]
    for key, (name, unit) in _WALK.items():
        value = ComparedValue(name, unit, getattr(first, key), getattr(second, key))
        if math.isfinite(value.a) or math.isfinite(value.b):
            walk.append(value)
    return values + walk


def _numbers(run: Run) -> dict[tuple[str, str], float]:
    total = run.energy.sum(axis=1)
    forces = np.linalg.norm(np.nan_to_num(run.forces), axis=2)
    joints = run.torques[:, 6:] if has_free_base(run) else run.torques
    checked = run.check()
    return {
        ("end time", "s"): float(run.t[-1]),
        ("samples", "1"): float(len(run.t)),
        ("impacts", "1"): float(sum(event.kind == IMPACT for event in run.events)),
        ("largest contact force", "N"): float(forces.max(initial=0.0)),
        ("largest torque", "N m"): float(np.abs(np.nan_to_num(joints)).max(initial=0)),
        ("largest kinetic energy", "J"): float(run.energy[:, 0].max()),
        ("change of energy", "J"): float(total[-1] - total[0]),
        ("checks that do not hold", "1"): float(len(checked.failed)),
    }


@dataclass(frozen=True)
class ObservedRun:
    """The observer's estimates along a run; n samples.

    Attributes:
        t: times (n,) [s].
        estimates: one a sample.
        position_error: distance from the true position (n,) [m].
        angle_error: angle of the turn to the true attitude (n,) [rad].
        velocity_error: estimate minus truth, linear and angular (n, 6) [m/s, rad/s].
    """

    t: np.ndarray
    estimates: tuple[BaseEstimate, ...]
    position_error: np.ndarray
    angle_error: np.ndarray
    velocity_error: np.ndarray

    @property
    def references(self) -> tuple[str, ...]:
        """Name of the reference at each sample."""
        return tuple(estimate.reference for estimate in self.estimates)

    @property
    def poses(self) -> np.ndarray:
        """Positions and quaternions (n, 7)."""
        return np.array([estimate.pose for estimate in self.estimates])


def observe_run(
    model: Model,
    run: Run,
    *,
    quantisation: float = 0.0,
    speeds: bool = True,
    attitude: bool = False,
    **options: Any,
) -> ObservedRun:
    """Let an observer follow a run by its joint angles and sole forces.

    Args:
        model: the model of the run.
        run: a run of that model.
        quantisation: step of the encoders; angles are rounded to it [rad].
        speeds: whether the observer is given the joint speeds, which are exact.
        attitude: whether it is given the attitude of the base, which is exact.
        options: of :class:`BaseObserver`; unless they say where it starts, it starts at
            the true pose.

    Raises:
        ParameterError: the run is of another model, or the step is negative.
    """
    if run.q.shape[1] != model.nq or run.v.shape[1] != model.nv:
        raise ParameterError(
            f"the run has {run.q.shape[1]} coordinates, {model.name} has {model.nq}"
        )
    if not 0 <= quantisation < np.inf:
        raise ParameterError(f"quantisation is at least 0 rad, not {quantisation}")
    if options.get("start") is None and options.get("standing") is None:
        options["start"] = run.q[0, :7]
    observer = BaseObserver(model, **options)
    joints = run.q[:, 7:]
    if quantisation:
        joints = quantisation * np.round(joints / quantisation)
    forces = sole_forces(model, run)
    estimates = tuple(
        observer.update(
            t,
            joints[k],
            run.v[k, 6:] if speeds else None,
            sole_forces={name: force[k] for name, force in forces.items()},
            attitude=run.q[k, 3:7] if attitude else None,
        )
        for k, t in enumerate(run.t)
    )
    turns = [
        np.linalg.norm(pin.log3(_turn(q[3:7]).T @ _turn(estimate.quaternion)))
        for q, estimate in zip(run.q, estimates, strict=True)
    ]
    places = np.array([estimate.position for estimate in estimates])
    return ObservedRun(
        t=run.t,
        estimates=estimates,
        position_error=np.linalg.norm(places - run.q[:, :3], axis=1),
        angle_error=np.array(turns),
        velocity_error=np.array([estimate.velocity for estimate in estimates])
        - run.v[:, :6],
    )


def sole_forces(model: Model, run: Run) -> dict[str, np.ndarray]:
    """Normal force on each sole, summed over its contacts, by its name (n,) [N]."""
    tags = [tag_of(name) for name in run.table.names]
    return {
        sole.name: run.forces[:, np.isin(tags, load_tags(sole)), 0].sum(axis=1)
        for sole in model.soles
    }


def _turn(quaternion: np.ndarray) -> np.ndarray:
    return np.asarray(pin.Quaternion(quaternion).matrix())
