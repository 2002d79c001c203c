# SPDX-License-Identifier: Apache-2.0
"""The motions by which a robot with Kondo's boards gets up, from ``config/motions``.

``getup-front``, ``getup-back`` and ``getup-left`` are motion files as any other one:
the boards play them, too. From the right side the left one's mirror image is played.
"""

from __future__ import annotations

import numpy as np

from humans_sim.control.falls.fall_detector import Lying
from humans_sim.control.falls.pose_sequence import PoseSequence
from humans_sim.core.resources import resource
from humans_sim.kondo.motion.channels import ChannelMap, load_channels
from humans_sim.kondo.motion.motion_file import KondoMotion
from humans_sim.kondo.motion.motion_library import load_motion
from humans_sim.kondo.motion.player import MotionPlayer
from humans_sim.models import Model

FROM_FRONT, FROM_BACK, FROM_LEFT = "getup-front", "getup-back", "getup-left"


def can_get_up(model: Model) -> bool:
    """Whether the package has motions for a model: it needs channels of its own."""
    return resource("config", "kondo", f"{model.name}.yaml").is_file()


def get_up_motions(model: Model) -> dict[Lying, PoseSequence]:
    """The package's motions for a model, by the side on which it lies.

    Raises:
        ParameterError: the model has no channels in ``config/kondo``.
    """
    channels = load_channels(model.name)
    front, back, left = map(load_motion, (FROM_FRONT, FROM_BACK, FROM_LEFT))
    right = channels.mirrored(left, "getup-right")
    motions = {
        Lying.FRONT: front,
        Lying.BACK: back,
        Lying.LEFT: left,
        Lying.RIGHT: right,
    }
    return {
        side: pose_sequence(model, motion, channels) for side, motion in motions.items()
    }


def pose_sequence(
    model: Model, motion: KondoMotion, channels: ChannelMap | None = None
) -> PoseSequence:
    """A motion's key poses, with the boards' timing."""
    player = MotionPlayer(model, motion, channels)
    # The first pose is where the motion begins: it is reached at once.
    moving = np.append(True, np.diff(player.times) > 0.0)
    return PoseSequence(
        motion.name, player.times[moving] - player.times[0], player.angles[moving]
    )
