# SPDX-License-Identifier: Apache-2.0
"""Walk report: a walk in numbers, from its run alone, and as lines for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation.robots import RobotSetup
from humans_sim.analysis.footfalls import (
    Stance,
    Step,
    all_stances,
    first_footprint,
    slip,
    steps_of,
    stretches,
)
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.control.walking.footsteps import Footprint
from humans_sim.results.records import FAILURE, POINT, PUSH, RESET
from humans_sim.results.run import Run


class Row(NamedTuple):
    """A line of a summary for people: where it belongs, what, how much."""

    section: str
    name: str
    value: str


FALL_HEIGHT = 0.6
"""Height of the base below which it has fallen, in heights at the start."""
RECOVERY = 0.5
"""Who is low, and up again after this time, did not fall [s]."""
EDGE = 0.01
"""The zero-moment point is on an edge where it is this near, in lengths of a sole."""
_LEAST_DISTANCE = 0.05
"""Distance ahead that drift is given for at least, in heights of the base."""
_WORK_ERROR = 0.05
"""Error of the work of the joints that is let pass, relative."""


@dataclass(frozen=True)
class JointUse:
    """The use of one joint in a run, beside what the model allows.

    Attributes:
        low: least angle [rad].
        high: largest angle [rad].
        torque: largest magnitude [N m].
        speed: largest magnitude [rad/s].
    """

    name: str
    low: float
    high: float
    lower_limit: float
    upper_limit: float
    torque: float
    torque_limit: float
    speed: float
    speed_limit: float


@dataclass(frozen=True)
class WalkSummary:
    """The summary of a walk. Numbers that a run cannot give are NaN.

    Path, support and steps end where the biped falls.

    Attributes:
        model: name of the model.
        duration: of the run [s].
        on_feet: whether a sole was ever loaded.
        fallen: whether it fell.
        fall_time: when [s]; NaN where it did not.
        failure: why the simulation ended early; empty where it did not.
        standing: where the left and the right sole stood first.
        steps: in the order of their landings.
        single_support: share of the time on one sole, from the first lift-off to the
            last landing.
        double_support: the same, on both feet.
        distance: from start to end as the crow flies, of ``base_footprint`` [m].
        forward: along the heading at the start [m].
        sideways: to the left of it [m].
        path_length: of ``base_footprint`` [m].
        speed: distance over time from the first lift-off to the last landing [m/s].
        heading_change: to the left [rad].
        drift: sideways for each metre forward [m/m].
        largest_tilt: of the base from the vertical [rad].
        zmp_margin: least distance of the zero-moment point to the edge of the soles
            that carry load [m].
        zmp_median: its median [m].
        zmp_on_edge: share of the samples in which it is on the edge: a foot tips.
        largest_load: normal force on one sole [N].
        largest_slip: of a contact point in one stance [m].
        least_gap: of all contact points [m].
        work_done: by the joints, where they drive [J]; NaN, as the next two, where the
            samples are too coarse.
        work_taken: by the joints, where they brake, positive [J].
        cost_of_transport: work done for weight and path length.
        joints: what was asked of them.
    """

    model: str
    duration: float
    on_feet: bool
    fallen: bool
    fall_time: float
    failure: str
    standing: tuple[Footprint, ...]
    steps: tuple[Step, ...]
    single_support: float
    double_support: float
    distance: float
    forward: float
    sideways: float
    path_length: float
    speed: float
    heading_change: float
    drift: float
    largest_tilt: float
    zmp_margin: float
    zmp_median: float
    zmp_on_edge: float
    largest_load: float
    largest_slip: float
    least_gap: float
    work_done: float
    work_taken: float
    cost_of_transport: float
    joints: tuple[JointUse, ...]

    @classmethod
    def of_run(cls, run: Run) -> WalkSummary:
        """Sum up a run of a biped; errors as of :meth:`RunMotion.of_run`."""
        return cls.of_motion(RunMotion.of_run(run))

    @classmethod
    def of_motion(cls, motion: RunMotion) -> WalkSummary:
        """Sum up a run that was followed already."""
        run, t = motion.run, motion.run.t
        whole = all_stances(motion)
        on_feet = any(len(own) for own in whole)
        fall = _fall(motion) if on_feet else None
        end = len(t) if fall is None else max(fall, 1)
        stood = [  # cut where a walk ends
            [Stance(s.first, min(s.last, end - 1)) for s in own if s.first < end]
            for own in whole
        ]
        steps = steps_of(motion, end, stood)
        travel = _travel(motion.footprint[:end], motion.base_height[0])
        single, double = _supports(t, steps, stood)
        work_done, work_taken = _work(run)
        path = travel["path_length"]
        failures = [e for e in run.events if e.kind == FAILURE]
        gaps = run.gaps[:, [kind == POINT for kind in run.table.kinds]]
        gaps = gaps[np.isfinite(gaps)]
        pairs = list(zip(motion.soles, stood, strict=True))
        slips = (slip(sole, stance) for sole, own in pairs for stance in own)
        return cls(
            model=motion.model.name,
            duration=float(t[-1] - t[0]),
            on_feet=on_feet,
            fallen=fall is not None,
            fall_time=math.nan if fall is None else float(t[fall]),
            failure=str(failures[-1].detail.get("text", "")) if failures else "",
            standing=tuple(first_footprint(sole, own) for sole, own in pairs),
            steps=steps,
            single_support=single,
            double_support=double,
            **travel,
            speed=_speed(t, motion.footprint, steps),
            largest_tilt=float(motion.tilt.max()),
            **_balance(motion, end),
            largest_load=max(
                (float(sole.load.max()) for sole in motion.soles), default=math.nan
            ),
            largest_slip=max(slips, default=math.nan),
            least_gap=float(gaps.min()) if gaps.size else math.nan,
            work_done=work_done,
            work_taken=work_taken,
            cost_of_transport=(
                work_done / (motion.weight * path) if steps and path > 0 else math.nan
            ),
            joints=_joints(motion),
        )

    @property
    def verdict(self) -> str:
        """One word: fell, failed, walked, stood, or floated."""
        if self.fallen:
            return "fell"
        if self.failure:
            return "failed"
        if self.steps:
            return "walked"
        return "stood" if self.on_feet else "floated"

    @property
    def headline(self) -> str:
        """One sentence."""
        count = len(self.steps)
        made = f"{count} step{'' if count == 1 else 's'}"
        walked = f"{made}, {self.distance:.3f} m" if count else "without a step"
        if math.isfinite(self.speed):
            walked += f" at {self.speed:.3f} m/s"
        return {
            "fell": f"Fell at {self.fall_time:.2f} s: {walked}",
            "failed": f"The simulation failed after {self.duration:.2f} s: {walked}",
            "walked": f"Walked {walked}",
            "stood": f"Stood for {self.duration:.2f} s, without a step",
            "floated": f"No sole touched the ground in {self.duration:.2f} s",
        }[self.verdict]

    def step_values(self, name: str) -> np.ndarray:
        """One number of all steps, by its name in :class:`Step`."""
        return np.array([getattr(step, name) for step in self.steps], dtype=float)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON; what is not finite is None."""
        plain: dict[str, Any] = {"verdict": self.verdict, "step_count": len(self.steps)}
        for field in fields(self):
            plain[field.name] = _plain(getattr(self, field.name))
        return plain

    def rows(self) -> list[Row]:
        """The summary as lines for people; what the run does not show is left out."""
        sections = {"result": _result(self)}
        if self.steps:
            sections["steps"] = _steps(self)
        if self.on_feet:
            sections |= {"path": _path(self), "balance": _balance_text(self)}
        sections["drive"] = _drive(self)
        return [
            Row(section, name, value)
            for section, lines in sections.items()
            for name, value in lines.items()
            if value and "nan" not in value
        ]

    def table(self) -> str:
        """The summary as a text for people."""
        rows = self.rows()
        wide = max(len(row.name) for row in rows)
        lines, section = [self.headline], ""
        for row in rows:
            if row.section != section:
                section = row.section
                lines += ["", section]
            lines.append(f"  {row.name:<{wide}}  {row.value}")
        return "\n".join(lines)


def fall_sample(motion: RunMotion) -> int | None:
    """First sample at which a biped that was on its feet is down for good, or None."""
    return _fall(motion) if any(all_stances(motion)) else None


def _fall(motion: RunMotion) -> int | None:
    """First sample at which the biped is down and does not come up again at once.

    Who bows without getting low and straightens, as to rise from a chair, is not down.
    """
    t = motion.run.t
    low = motion.base_height < FALL_HEIGHT * max(float(motion.base_height[0]), 0.0)
    tilt = RobotSetup.of_model(motion.model).fall_tilt
    for first, last in stretches((motion.tilt > tilt) | low):
        if last == len(t) - 1:
            return first
        if low[first : last + 1].any() and t[last + 1] - t[first] > RECOVERY:
            return first
    return None


def _travel(footprint: np.ndarray, height: float) -> dict[str, float]:
    moved = footprint[-1] - footprint[0]
    c, s = math.cos(footprint[0, 2]), math.sin(footprint[0, 2])
    forward = float(c * moved[0] + s * moved[1])
    sideways = float(c * moved[1] - s * moved[0])
    distances = np.linalg.norm(np.diff(footprint[:, :2], axis=0), axis=1)
    enough = abs(forward) > _LEAST_DISTANCE * abs(height)
    return {
        "distance": float(np.hypot(moved[0], moved[1])),
        "forward": forward,
        "sideways": sideways,
        "path_length": float(distances.sum()),
        "heading_change": float(moved[2]),
        "drift": sideways / abs(forward) if enough else math.nan,
    }


def _speed(t: np.ndarray, footprint: np.ndarray, steps: Sequence[Step]) -> float:
    if not steps:
        return math.nan
    start, end = steps[0].lift_off, steps[-1].landing
    places = [np.interp([start, end], t, footprint[:, axis]) for axis in (0, 1)]
    return float(np.hypot(*(b - a for a, b in places)) / (end - start))


def _supports(
    t: np.ndarray, steps: Sequence[Step], stood: Sequence[Sequence[Stance]]
) -> tuple[float, float]:
    """Shares of the time in single and in double support."""
    if not steps:
        return math.nan, math.nan
    loaded = np.zeros((len(stood), len(t)), dtype=bool)
    for row, own in zip(loaded, stood, strict=True):
        for stance in own:
            row[stance.first : stance.last + 1] = True
    within = (t >= steps[0].lift_off) & (t < steps[-1].landing)
    count = loaded[:, within].sum(axis=0)
    times = np.diff(t, append=t[-1])[within]
    total = float(times.sum())
    if total <= 0:
        return math.nan, math.nan
    single, double = (float(times[count == feet].sum()) / total for feet in (1, 2))
    return single, double


def _balance(motion: RunMotion, end: int) -> dict[str, float]:
    margin = motion.zmp_margin[:end]
    margin = margin[np.isfinite(margin)]
    if not len(margin):
        return dict.fromkeys(("zmp_margin", "zmp_median", "zmp_on_edge"), math.nan)
    size = max(float(np.ptp(sole.corners[:, 0])) for sole in motion.soles)
    return {
        "zmp_margin": float(margin.min()),
        "zmp_median": float(np.median(margin)),
        "zmp_on_edge": float(np.mean(margin < EDGE * size)),
    }


def _work(run: Run) -> tuple[float, float]:
    """Work of the joints where they drive and where they brake [J].

    The samples see the power at some times only, at those of the commands if the
    periods are the same. Contact takes energy and gives none: where the joints seem to
    have done less than what the body has gained, the samples miss too much, and the
    work is not given; unless pushes or resets gave energy, too.
    """
    power = np.nan_to_num(run.torques[:, 6:]) * run.v[:, 6:]
    done = float(np.trapezoid(np.maximum(power, 0.0), run.t, axis=0).sum())
    taken = float(np.trapezoid(np.maximum(-power, 0.0), run.t, axis=0).sum())
    gained = float(run.energy[-1].sum() - run.energy[0].sum())
    alone = not any(event.kind in (PUSH, RESET) for event in run.events)
    if alone and done - taken < gained - _WORK_ERROR * (done + taken):
        return math.nan, math.nan
    return done, taken


def _joints(motion: RunMotion) -> tuple[JointUse, ...]:
    model, run = motion.model, motion.run
    angles = run.q[:, 7:]
    torques = np.abs(np.nan_to_num(run.torques[:, 6:])).max(axis=0)
    columns = (
        angles.min(axis=0),
        angles.max(axis=0),
        model.lower_limits,
        model.upper_limits,
        torques,
        model.effort_limits,
        np.abs(run.v[:, 6:]).max(axis=0),
        model.velocity_limits,
    )
    return tuple(
        JointUse(name, *(float(column[j]) for column in columns))
        for j, name in enumerate(model.joint_names)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Footprint):
        return {"x": value.x, "y": value.y, "heading": value.yaw}
    if isinstance(value, Step):
        return {
            **{f.name: _plain(getattr(value, f.name)) for f in fields(value)},
            "side": value.side.name.lower(),
        }
    if isinstance(value, JointUse):
        return {name: _plain(number) for name, number in asdict(value).items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


_NEAR = 0.9
"""Share of a limit above which a joint is named."""
_NAMED = 6
"""Joints named at most."""


def _result(s: WalkSummary) -> dict[str, str]:
    fell = f"at {s.fall_time:.2f} s" if s.fallen else "no"
    return {
        "model": s.model,
        "time simulated": f"{s.duration:.2f} s",
        "fell": fell if s.on_feet else "",
        "failure": s.failure,
    }


def _steps(s: WalkSummary) -> dict[str, str]:
    left = sum(step.side > 0 for step in s.steps)
    walk = s.steps[-1].landing - s.steps[0].lift_off
    support = f"{100 * s.single_support:.0f} %, {100 * s.double_support:.0f} %"
    return {
        "steps": f"{len(s.steps)} ({left} left, {len(s.steps) - left} right)",
        "first lift-off to last landing": f"{walk:.2f} s",
        "step length": _spread(1e3 * s.step_values("length"), "mm"),
        "step width": _spread(1e3 * s.step_values("width"), "mm"),
        "step duration": _spread(s.step_values("duration"), "s", 3),
        "foot clearance": _spread(1e3 * s.step_values("clearance"), "mm"),
        "single, double support": support,
    }


def _path(s: WalkSummary) -> dict[str, str]:
    return {
        "distance": f"{s.distance:.4f} m",
        "path length": f"{s.path_length:.4f} m",
        "speed": f"{s.speed:.4f} m/s",
        "ahead, to the left": f"{_number(s.forward, 4)} m, {_number(s.sideways, 4)} m",
        "drift to the left": f"{_number(1e3 * s.drift, 1)} mm a metre",
        "turned to the left": f"{_number(math.degrees(s.heading_change), 2)}°",
    }


def _balance_text(s: WalkSummary) -> dict[str, str]:
    slip = _spread(1e3 * s.step_values("slip"), "mm", 2) if s.steps else ""
    margin = f"least {_mm(s.zmp_margin)}, median {_mm(s.zmp_median)}"
    return {
        "largest tilt of the base": f"{math.degrees(s.largest_tilt):.2f}°",
        "ZMP to the edge of the support": margin,
        "time with the ZMP on an edge": f"{100 * s.zmp_on_edge:.0f} %",
        "largest load on a sole": f"{s.largest_load:.4g} N",
        "slip of a foot in one stance": slip,
        "largest slip": f"{1e3 * s.largest_slip:.2f} mm",
        "least gap": f"{s.least_gap:.2e} m",
    }


def _drive(s: WalkSummary) -> dict[str, str]:
    bound = []  # 0 in the middle of the range, 1 at a limit
    for j in s.joints:
        middle = (j.upper_limit + j.lower_limit) / 2
        far = max(abs(j.low - middle), abs(j.high - middle))
        bound.append((_share(far, (j.upper_limit - j.lower_limit) / 2), j.name))
    torque = [(_share(j.torque, j.torque_limit), j.name) for j in s.joints]
    speed = [(_share(j.speed, j.speed_limit), j.name) for j in s.joints]
    work = s.work_done > 0 or s.work_taken > 0
    coarse = "" if math.isfinite(s.work_done) else "n/a: the samples are too coarse"
    transport = f"{s.cost_of_transport:.3g}" if s.steps and work else ""
    return {
        "work done by the joints": f"{s.work_done:.3g} J" if work else coarse,
        "work taken by the joints": f"{s.work_taken:.3g} J" if work else "",
        "cost of transport": transport,
        "torque nearest its limit": _largest(torque),
        "speed nearest its limit": _largest(speed),
        "angle nearest its limit": _largest(bound),
    }


def _number(value: float, digits: int) -> str:
    """A number, without a minus before zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _mm(length: float) -> str:
    return f"{_number(1e3 * length, 2)} mm"


def _spread(values: np.ndarray, unit: str, digits: int = 1) -> str:
    """Median and range of what is known."""
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    if len(values) == 1:
        return f"{values[0]:.{digits}f} {unit}"
    return (
        f"{np.median(values):.{digits}f} {unit} "
        f"({values.min():.{digits}f} to {values.max():.{digits}f})"
    )


def _share(value: float, limit: float) -> float:
    return value / limit if 0 < limit < math.inf else 0.0


def _largest(shares: list[tuple[float, str]]) -> str:
    """The joint that is nearest its limit, or all that are near it."""
    near = sorted((s for s in shares if s[0] >= _NEAR), reverse=True)
    if not near:
        share, name = max(shares, default=(0.0, ""))
        return f"{100 * share:.0f} % ({name})" if share > 0 else ""
    names = ", ".join(name for _, name in near[:_NAMED])
    more = f" and {len(near) - _NAMED} more" if len(near) > _NAMED else ""
    return f"{100 * near[0][0]:.0f} % ({names}{more})"
