# SPDX-License-Identifier: Apache-2.0
"""Actuation: what turns commands into joint torques."""

from humans_sim.actuation.composite_actuation import CompositeActuation
from humans_sim.actuation.delayed_actuation import (
    ActuatorState,
    CommandKind,
    DelayedActuation,
)
from humans_sim.actuation.fes_muscles import FesMuscles, MusclePowers, MuscleState
from humans_sim.actuation.ideal_torque import IdealTorque
from humans_sim.actuation.muscle import (
    HAMSTRINGS,
    QUADRICEPS,
    CommandSignal,
    KneeGeometry,
    MuscleError,
    MuscleParameters,
    Stimulator,
)
from humans_sim.actuation.muscle_bench import MuscleHistory, simulate_muscle
from humans_sim.actuation.pulse_trains import PulseTrainMuscles
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.actuation.screw_drive_motors import (
    DCMotor,
    MotorPower,
    ScrewDriveMotors,
)
from humans_sim.actuation.servo import Servo

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
