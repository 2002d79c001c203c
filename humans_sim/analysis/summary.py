# SPDX-License-Identifier: Apache-2.0
"""The summary of a run as text, and the cause of a fall.

Falls, torque limits and joint limits are given with their times. A joint is at its
torque limit in a sample where its servo wants more than its line from stall torque to
no-load speed gives, or where its torque reaches the effort limit of the model. A servo
is looked at before the command of the sample's time acts: a new command asks for much
for a moment, which is no weakness. Everything is looked for until the fall: after it
joints reach limits anyway.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.actuation.servo import SERVO_NUMBERS, Servo
from humans_sim.analysis.footfalls import sinkage_lines
from humans_sim.analysis.gait import WalkSummary, fall_sample
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.core.errors import HumansError
from humans_sim.results.export import has_free_base
from humans_sim.results.record import sound_record
from humans_sim.results.records import FAILURE
from humans_sim.results.run import Run


def run_text(run: Run) -> str:
    """The summary of a run; of a biped, also of its walk."""
    name = str(run.info.get("system", "run"))
    method = str(run.info.get("method", "unknown method"))
    counts = Counter(event.kind for event in run.events)
    events = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    lines = [
        f"{name}: {run.t[0]:g} to {run.t[-1]:g} s, {len(run)} samples, {method}",
        *(
            f"stopped at {event.time:g} s: {event.detail.get('text', '')}"
            for event in run.events
            if event.kind == FAILURE
        ),
        *_walk(run),
        f"events: {events or 'none'}",
        *_checks(run),
    ]
    return "\n".join(lines)


def _walk(run: Run) -> list[str]:
    """How a biped walked, where its model is still there."""
    if not has_free_base(run) or "bodies" in run.info:
        return []
    try:
        summary = WalkSummary.of_run(run)
    except HumansError as error:
        return [f"walk: n/a ({error})"]
    rows = [row for row in summary.rows() if row.section != "result"]
    lines = [f"  {row.name}: {row.value}" for row in rows]
    return [summary.headline, *lines, *(f"  {x}" for x in sinkage_lines(run))]


def _checks(run: Run) -> list[str]:
    checked = run.check()
    failed, held = checked.failed, checked.held
    missing = [f.name for f in checked.findings if f.ok is None]
    rest = f"; n/a: {', '.join(missing)}" if missing else ""
    if not failed and not held:
        return [f"physical checks: none could be made{rest}"]
    if not failed:
        return [f"physical checks: all {len(held)} hold{rest}"]
    return [
        f"physical checks: {len(failed)} of {len(failed) + len(held)} do not hold"
        f"{rest}",
        *(
            f"  {f.name}: {f.value_text} {f.unit}, limit {f.limit_text}, {f.where}"
            for f in failed
        ),
    ]


FALL, TORQUE_LIMIT, JOINT_LIMIT = "fall", "torque_limit", "joint_limit"
STOPPED = "stopped"
"""Kinds of incidents; stopped: the simulation could not continue."""
LEAST_SHARE = 0.3
"""Share of the time at its torque limit from which a joint is reported."""
LEAST_TIME = 0.1
"""Time at its torque limit from which a joint is reported [s]."""
_SHOWN = 4
"""Joints at limits that are named to people."""
_EFFORT = 1e-3
"""How near to its effort limit a torque is at it, relative."""
_AT_LIMIT = math.radians(0.1)
"""How near to its limit a joint is at it [rad]."""


@dataclass(frozen=True)
class Incident:
    """Something that a person should know of a run.

    Attributes:
        kind: one of the words of this module.
        time: when, or since when [s].
        joint: of the model; empty for the whole body.
        share: of the time since then, for torque limits; else NaN.
    """

    kind: str
    time: float
    joint: str
    share: float
    text: str


def incidents_of(run: Run) -> tuple[Incident, ...]:
    """Incidents of a run in the order of time; none for what is no biped alone."""
    if not has_free_base(run) or "bodies" in run.info or len(run) < 2:
        return ()
    try:
        return motion_incidents(RunMotion.of_run(run))
    except HumansError:  # the model is no longer there, or the run is damaged
        return ()


def incident_lines(incidents: Sequence[Incident]) -> list[str]:
    """Incidents for people: of the joints, those that matter most."""
    weak = [i for i in incidents if i.kind == TORQUE_LIMIT]
    shown = sorted(weak, key=lambda i: -i.share)[:_SHOWN]
    ends = [i for i in incidents if i.kind == JOINT_LIMIT]
    shown += ends[:_SHOWN]
    lines = [i.text for i in incidents if i in shown or i.kind in (FALL, STOPPED)]
    for kind, others in (("torque", weak), ("joint", ends)):
        if len(others) > _SHOWN:
            lines.append(f"{len(others) - _SHOWN} more joints at their {kind} limits")
    return lines


def motion_incidents(motion: RunMotion) -> tuple[Incident, ...]:
    """Incidents of a run that was followed already, in the order of time."""
    fall = fall_sample(motion)
    end = len(motion.run.t) if fall is None else fall + 1
    incidents = [*_torque_limits(motion, end), *_joint_limits(motion, end)]
    if fall is not None:
        incidents.append(_fall(motion, fall))
    incidents += [
        Incident(STOPPED, e.time, "", math.nan, f"stopped at {e.time:.2f} s: {text}")
        for e in motion.run.events
        if e.kind == FAILURE and (text := str(e.detail.get("text", "")))
    ]
    return tuple(sorted(incidents, key=lambda incident: incident.time))


def _fall(motion: RunMotion, sample: int) -> Incident:
    time, tilt = float(motion.run.t[sample]), math.degrees(motion.tilt[sample])
    height = motion.base_height[sample] / motion.base_height[0]
    text = f"fell at {time:.2f} s (trunk tilt {tilt:.0f} deg"
    text += f", base at {100 * height:.0f} % of its height)"
    return Incident(FALL, time, "", math.nan, text)


def _torque_limits(motion: RunMotion, end: int) -> list[Incident]:
    """Joints that give all they have for a good part of the time."""
    run, joints = motion.run, motion.model.joint_names
    t, limited = run.t[:end], saturated(motion)[:end]
    if end < 2:
        return []
    period = float(np.median(np.diff(t)))
    incidents = []
    for j in np.flatnonzero(limited.any(axis=0)):
        column = limited[:, j]
        first = int(np.argmax(column))
        share, total = float(column[first:].mean()), period * float(column.sum())
        if share < LEAST_SHARE or total < LEAST_TIME:
            continue
        text = (
            f"{joints[j]} at its torque limit {100 * share:.0f} % of the time since "
            f"{t[first]:.2f} s"
        )
        incidents.append(
            Incident(TORQUE_LIMIT, float(t[first]), joints[j], share, text)
        )
    return incidents


def saturated(motion: RunMotion) -> np.ndarray:
    """Samples in which joints give all the torque they have (n, njoints)."""
    run, model = motion.run, motion.model
    if SERVO_NUMBERS not in run.info:
        effort = model.effort_limits
        known = np.isfinite(effort) & (effort > 0)
        torques = np.abs(np.nan_to_num(run.torques[:, 6:]))
        return np.asarray(known & (torques >= (1 - _EFFORT) * effort))
    # Servos that ask for more torque than they have, before a sample's command comes.
    names = model.joint_names
    with sound_record("its servos"):
        table = run.info[SERVO_NUMBERS]
        rows = np.array([table[name] for name in names], float).reshape(-1, 8)
        points = [run.signal(f"{Servo.KIND}/{name}/set_point") for name in names]
    gain, damping, stall, no_load, band = rows[:, :5].T
    point, speed = np.column_stack(points), run.v[:, 6:]
    rate = np.zeros_like(point)
    rate[1:] = np.diff(point, axis=0) / np.diff(run.t)[:, None]
    behind = point - run.q[:, 7:]
    behind = np.sign(behind) * np.maximum(np.abs(behind) - band, 0.0)
    demand = gain * behind + damping * (rate - speed)
    forward = np.clip(stall * (1 - speed / no_load), 0.0, stall)
    backward = np.clip(stall * (1 + speed / no_load), 0.0, stall)
    return np.asarray((demand > forward) | (demand < -backward))


def _joint_limits(motion: RunMotion, end: int) -> list[Incident]:
    """Joints that reach an end of their range, and were not there at the start."""
    run, model = motion.run, motion.model
    angles = run.q[:end, 7:]
    incidents = []
    for word, limits, room in (
        ("lower", model.lower_limits, angles - model.lower_limits),
        ("upper", model.upper_limits, model.upper_limits - angles),
    ):
        at = room < _AT_LIMIT
        for j in np.flatnonzero(at.any(axis=0) & ~at[0]):
            time, name = float(run.t[np.argmax(at[:, j])]), model.joint_names[j]
            angle = math.degrees(limits[j])
            text = f"{name} at its {word} joint limit ({angle:.0f} deg) at {time:.2f} s"
            incidents.append(Incident(JOINT_LIMIT, time, name, math.nan, text))
    return incidents
