# SPDX-License-Identifier: Apache-2.0
"""From markers to a robot: a recording, reconstructed and taken over.

The one function for it: the library and ``humans-sim retarget`` call it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.analysis.foot_contacts import find_contacts
from humans_sim.analysis.inverse_dynamics import rates
from humans_sim.analysis.sole_points import sole_points
from humans_sim.applications.reconstruction import reconstruct
from humans_sim.applications.retarget_boards import board_excess, has_boards
from humans_sim.control.retargeting.errors import RetargetError
from humans_sim.control.retargeting.limbs import person_limbs
from humans_sim.control.retargeting.person_motion import PersonMotion, person_motion
from humans_sim.control.retargeting.retarget import Retargeting
from humans_sim.control.retargeting.robot_motion import RobotMotion
from humans_sim.control.retargeting.settings import RetargetSettings
from humans_sim.control.walking.sole_legs import sole_sides
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model, load_model
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.posture.result_file import load_reconstruction

_STORED = ".npz"
_TRIES = 6
"""Of slower motions for boards."""
_POWER = 0.7
"""Speeds fall with the time that a motion takes, accelerations with its square."""


def retarget(
    source: Reconstruction | MarkerTrial | Path | str,
    robot: Model | Path | str,
    *,
    settings: RetargetSettings | None = None,
    start: float = 0.0,
    end: float = 0.0,
    **options: Any,
) -> RobotMotion:
    """A robot's motion from a person's.

    Args:
        source: a recording, a stored reconstruction (``.npz``), or either in
            memory.
        robot: a model, its name, or a URDF with soles (``humans-sim init-robot`` finds
            them).
        settings: how it is taken over.
        start: first frame, in the recording's time [s].
        end: last frame [s]; 0: to the end.
        options: of :func:`humans_sim.reconstruct`, for a recording.

    Raises:
        RetargetError: the robot cannot make this motion, even slowed; with the joint
            and the time.
        HumansError: a file is wrong, or nothing says who is in the recording.
    """
    person = captured_motion(captured(source, **options), start, end)
    return retarget_person(person, robot, settings)


def retarget_person(
    person: PersonMotion,
    robot: Model | Path | str,
    settings: RetargetSettings | None = None,
) -> RobotMotion:
    """A robot's motion from what is known of a person's.

    Args:
        person: what the person did.
        robot: a model, its name, or a URDF with soles.
        settings: how it is taken over.

    Raises:
        RetargetError: the robot cannot make this motion, even slowed.
    """
    model = robot if isinstance(robot, Model) else load_model(robot)
    retargeting = Retargeting(model, settings)
    motion = retargeting.retarget(person)
    if not has_boards(model):
        return motion
    spent = motion.frame_time * len(motion.t)
    for _ in range(_TRIES):
        excess = board_excess(motion)
        if excess <= 1.0:
            return replace(motion, frame_time=spent / len(motion.t))
        # Boards lead their servos by positions alone, ahead by the servos' lag.
        slower = 1.02 * excess**_POWER * motion.plan.slowdown
        motion = retargeting.retarget(person, slower)
        spent += motion.frame_time * len(motion.t)
    raise RetargetError(
        f"the boards' servos would have to turn {excess:.2g} times as fast as they may"
    )


def captured(
    source: Reconstruction | MarkerTrial | Path | str, **options: Any
) -> Reconstruction:
    """The postures of a recording, stored or found now.

    Args:
        source: a recording, a stored reconstruction (``.npz``), or either in
            memory.
        options: of :func:`humans_sim.reconstruct`, for a recording.

    Raises:
        ParameterError: options are given for a reconstruction that is done.
    """
    if isinstance(source, Reconstruction):
        stored = source
    elif isinstance(source, MarkerTrial):
        return reconstruct(source, uncertainty=False, **options)
    elif Path(source).suffix.lower() == _STORED:
        stored = load_reconstruction(Path(source).expanduser())
    else:
        return reconstruct(source, uncertainty=False, **options)
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(f"{given[0]} goes with a recording: this is reconstructed")
    return stored


def captured_motion(
    postures: Reconstruction, start: float = 0.0, end: float = 0.0
) -> PersonMotion:
    """What a robot takes over of a reconstruction.

    Args:
        postures: of the person.
        start: first frame, in the recording's time [s].
        end: last frame [s]; 0: to the end.

    Raises:
        RetargetError: the motion is too short, or no foot ever stands.
    """
    model, t, q = postures.model, np.asarray(postures.t), np.asarray(postures.q)
    rows = (t >= start) & (t <= (end if end > 0.0 else math.inf))
    t, q = t[rows], q[rows]
    limbs = person_limbs(model)
    if len(t) > 2:
        v, _ = rates(model, t, q)
        contacts = find_contacts(t, sole_points(model, q, v))
        order = [contacts.soles.index(name) for name in sole_sides(model)]
        down = contacts.down[:, order]
    else:
        down = np.ones((len(t), 2), dtype=bool)
    return person_motion(limbs, t, q, down)
