"""Actuation: what turns commands into joint torques."""

from humans_sim.actuation.commanded import Commanded, Timed
from humans_sim.actuation.ideal_torque import IdealTorque
from humans_sim.actuation.servo import Servo
from humans_sim.actuation.together import Together

__all__ = ["Commanded", "IdealTorque", "Servo", "Timed", "Together"]
