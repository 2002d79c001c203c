"""Actuation: what turns commands into joint torques."""

from humans_sim.actuation.ideal_torque import IdealTorque
from humans_sim.actuation.servo import Servo

__all__ = ["IdealTorque", "Servo"]
