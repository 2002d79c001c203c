# SPDX-License-Identifier: Apache-2.0
"""Walking: footsteps, centre of mass and zero-moment point, swing foot, postures."""

from humans_sim.control.walking.com_estimator import SoleWrench, WalkSensors
from humans_sim.control.walking.footsteps import Footprint, Velocity
from humans_sim.control.walking.pattern import PatternPoint, WalkPattern
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.timeline import Footstep, WalkPhase
from humans_sim.control.walking.walker import WalkCommand, Walker

__all__ = [
    "Footprint",
    "Footstep",
    "WalkSensors",
    "PatternPoint",
    "SoleWrench",
    "Velocity",
    "WalkCommand",
    "WalkPattern",
    "WalkPhase",
    "WalkSettings",
    "Walker",
]
