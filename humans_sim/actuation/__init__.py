# SPDX-License-Identifier: Apache-2.0
"""Actuation: what turns commands into joint torques."""

from humans_sim.actuation.command_signal import CommandSignal
from humans_sim.actuation.composite_actuation import CompositeActuation
from humans_sim.actuation.dc_motor import DCMotor
from humans_sim.actuation.delayed_actuation import DelayedActuation
from humans_sim.actuation.fes_muscles import FesMuscles, MusclePowers, MuscleState
from humans_sim.actuation.ideal_torque import IdealTorque
from humans_sim.actuation.knee_geometry import KneeGeometry
from humans_sim.actuation.muscle import (
    HAMSTRINGS,
    QUADRICEPS,
    MuscleError,
    MuscleParameters,
)
from humans_sim.actuation.muscle_bench import MuscleHistory, simulate_muscle
from humans_sim.actuation.pulse_trains import PulseTrainMuscles
from humans_sim.actuation.recruitment import Stimulator
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.actuation.screw_drive_motors import MotorPower, ScrewDriveMotors
from humans_sim.actuation.servo import Servo
from humans_sim.actuation.state import ActuatorState, CommandKind

__all__ = [
    "ActuatorState",
    "CommandKind",
    "CommandSignal",
    "DelayedActuation",
    "DCMotor",
    "FesMuscles",
    "HAMSTRINGS",
    "IdealTorque",
    "JointSample",
    "KneeGeometry",
    "MotorPower",
    "MuscleError",
    "MuscleHistory",
    "MuscleParameters",
    "MusclePowers",
    "MuscleState",
    "PulseTrainMuscles",
    "QUADRICEPS",
    "SampledActuation",
    "ScrewDriveMotors",
    "Servo",
    "Stimulator",
    "CompositeActuation",
    "simulate_muscle",
]
