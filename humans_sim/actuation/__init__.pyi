# SPDX-License-Identifier: Apache-2.0
"""The public names: each once, with the module that it is loaded from at first use."""

from humans_sim.actuation.composite_actuation import (
    CompositeActuation as CompositeActuation,
)
from humans_sim.actuation.delayed_actuation import ActuatorState as ActuatorState
from humans_sim.actuation.delayed_actuation import CommandKind as CommandKind
from humans_sim.actuation.delayed_actuation import DelayedActuation as DelayedActuation
from humans_sim.actuation.fes_muscles import FesMuscles as FesMuscles
from humans_sim.actuation.fes_muscles import MusclePowers as MusclePowers
from humans_sim.actuation.fes_muscles import MuscleState as MuscleState
from humans_sim.actuation.ideal_torque import IdealTorque as IdealTorque
from humans_sim.actuation.muscle import HAMSTRINGS as HAMSTRINGS
from humans_sim.actuation.muscle import QUADRICEPS as QUADRICEPS
from humans_sim.actuation.muscle import CommandSignal as CommandSignal
from humans_sim.actuation.muscle import KneeGeometry as KneeGeometry
from humans_sim.actuation.muscle import MuscleError as MuscleError
from humans_sim.actuation.muscle import MuscleParameters as MuscleParameters
from humans_sim.actuation.muscle import Stimulator as Stimulator
from humans_sim.actuation.muscle_bench import MuscleHistory as MuscleHistory
from humans_sim.actuation.muscle_bench import simulate_muscle as simulate_muscle
from humans_sim.actuation.pulse_trains import PulseTrainMuscles as PulseTrainMuscles
from humans_sim.actuation.sampled_actuation import JointSample as JointSample
from humans_sim.actuation.sampled_actuation import SampledActuation as SampledActuation
from humans_sim.actuation.screw_drive_motors import DCMotor as DCMotor
from humans_sim.actuation.screw_drive_motors import MotorPower as MotorPower
from humans_sim.actuation.screw_drive_motors import ScrewDriveMotors as ScrewDriveMotors
from humans_sim.actuation.servo import Servo as Servo
