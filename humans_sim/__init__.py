# SPDX-License-Identifier: Apache-2.0
"""Simulate, observe and control bipeds: what users need, as docs/api.md lists it."""

from importlib import import_module
from typing import TYPE_CHECKING

from humans_sim.core.errors import (
    ConfigurationError,
    FileError,
    FileWriteError,
    HumansError,
    MissingDependencyError,
    ModelFileError,
    ParameterError,
    RunFileError,
    UnknownModelError,
)
from humans_sim.core.version import __version__ as __version__

if TYPE_CHECKING:
    from humans_sim.actuation import (
        CompositeActuation,
        FesMuscles,
        IdealTorque,
        ScrewDriveMotors,
        Servo,
    )
    from humans_sim.actuation.muscle import MuscleError
    from humans_sim.actuation.torque_law import TorqueLaw
    from humans_sim.analysis.force_comparison import (
        ForceComparison,
        compare_with_plates,
    )
    from humans_sim.analysis.inverse_dynamics import InverseDynamics, inverse_dynamics
    from humans_sim.analysis.run_comparison import RunComparison, compare_runs
    from humans_sim.anatomy.errors import (
        AnatomyError,
        BallModelFileError,
        BoneMeshError,
        ImageStackError,
        WristRunFileError,
    )
    from humans_sim.applications.batch.record import BatchBusyError
    from humans_sim.applications.batch.workers import ClusterError
    from humans_sim.applications.body_files import UnsupportedShapeError
    from humans_sim.applications.person import UnknownPersonError
    from humans_sim.applications.reconstruction import reconstruct
    from humans_sim.applications.retarget import retarget
    from humans_sim.applications.simulate import simulate
    from humans_sim.applications.sweep.sweeps import sweep
    from humans_sim.bodies.mass_properties import BodyError
    from humans_sim.cli.exit_codes import DoubtfulResultError
    from humans_sim.contact import Box, Ground, HalfSpace, HeightField, TriangleMesh
    from humans_sim.contact.joint.contact_errors import (
        ContactError,
        CurvatureSumError,
        ForbiddenMotionError,
        NoContactError,
        SurfaceError,
    )
    from humans_sim.contact.problem.contact_problem import ContactProblemError
    from humans_sim.control.bip.inverse_task import UnreachableError
    from humans_sim.control.gait.gait_cycle import GaitCycle, GaitSettings
    from humans_sim.control.gait.gait_walk import GaitWalk
    from humans_sim.control.retargeting.errors import RetargetError
    from humans_sim.control.retargeting.robot_motion import RobotMotion
    from humans_sim.control.retargeting.settings import RetargetSettings
    from humans_sim.control.task.whole_body import ControlError
    from humans_sim.control.trajectories.joint_trajectory import JointTrajectoryError
    from humans_sim.control.trajectories.posture_law import PostureLaw
    from humans_sim.control.trajectories.traj3 import TrajectoryFileError
    from humans_sim.control.trajectories.trajectory import TrajectoryError
    from humans_sim.control.walking.settings import WalkSettings
    from humans_sim.control.walking.sole_legs import SettingError
    from humans_sim.control.walking.walk import Walk
    from humans_sim.control.walking.whole_body_ik import ReachError
    from humans_sim.core.expressions import ExpressionError
    from humans_sim.dynamics import Simulation, SimulationError
    from humans_sim.dynamics.actuation_interface import Actuation
    from humans_sim.dynamics.controller import (
        CommandWithNextCall,
        Controller,
        ControlState,
    )
    from humans_sim.dynamics.event_driven.state_equations import StateEquations
    from humans_sim.dynamics.general_system import GeneralSystem
    from humans_sim.dynamics.integrators import IntegrationError
    from humans_sim.dynamics.pushes import Push
    from humans_sim.dynamics.sensors import (
        FootSensor,
        Imu,
        JointEncoders,
        Sensor,
        SignalErrors,
        read_sensors,
    )
    from humans_sim.dynamics.stepper import ActuationError, StepError
    from humans_sim.kondo.driver.board import BoardError, NotFreedError
    from humans_sim.kondo.driver.robot_health import RobotStateError
    from humans_sim.kondo.driver.safety import JointCommandError
    from humans_sim.kondo.driver.self_collision import SelfCollisionError
    from humans_sim.kondo.driver.stream import StreamError
    from humans_sim.kondo.driver.walk_stream import WalkStreamError
    from humans_sim.kondo.emulation.simulated_robot import SimulatedBodyError
    from humans_sim.kondo.motion.motion_file import MotionFileError
    from humans_sim.kondo.protocol.frames import ChecksumError, ProtocolError
    from humans_sim.kondo.protocol.link import NoAnswerError
    from humans_sim.kondo.protocol.ports import PortChoiceError
    from humans_sim.kondo.protocol.serial_port import LinkError, PortError
    from humans_sim.models import Model, load_model
    from humans_sim.models.frame_view import FrameView
    from humans_sim.models.legs.chains import NoBipedError
    from humans_sim.models.link_coordinates import LinkCoordinates
    from humans_sim.observation.base.feedback import MeasuredState, ObserverFeedback
    from humans_sim.observation.base.measurements import ObservationError
    from humans_sim.observation.draft.draft_set import (
        MarkerSetDraft,
        MarkerSetDraftError,
        draft_marker_set,
    )
    from humans_sim.observation.markers.errors import MarkerFileError
    from humans_sim.observation.markers.force_file import read_force_file
    from humans_sim.observation.markers.force_plate import ForcePlate
    from humans_sim.observation.markers.ground_reaction import GroundReaction
    from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
    from humans_sim.observation.markers.read import read_markers
    from humans_sim.observation.markers.trial import MarkerTrial
    from humans_sim.observation.posture.calibrate import CalibrationError, calibrate
    from humans_sim.observation.posture.osim_file import write_osim
    from humans_sim.observation.posture.reconstruction_parameters import (
        read_reconstruction_parameters,
        write_reconstruction_parameters,
    )
    from humans_sim.observation.posture.result import Reconstruction
    from humans_sim.observation.posture.result_file import load_reconstruction
    from humans_sim.observation.posture.subject import Subject, load_subject
    from humans_sim.observation.posture.verdict import Verdict
    from humans_sim.observation.screening.findings import ScreeningError
    from humans_sim.results.check import Check
    from humans_sim.results.contact_table import ContactTable
    from humans_sim.results.events import Event
    from humans_sim.results.run import Run, load_run
    from humans_sim.results.sample import Sample
    from humans_sim.results.signal import Signal
    from humans_sim.soft.errors import (
        CouplingError,
        NetworkConnectionError,
        SoftError,
        UnstableStepError,
    )
    from humans_sim.view.film.animation import animate
    from humans_sim.view.reports.report import write_report as report
    from humans_sim.view.scene_files.scene_file import export_model

# Loaded when first used: a program must handle signals before large libraries load, and
# `humans-sim --help` need not wait for them. Type checkers read the imports above.
_MODULES = {
    "Actuation": "dynamics.actuation_interface",
    "ActuationError": "dynamics.stepper",
    "AnatomyError": "anatomy.errors",
    "BallModelFileError": "anatomy.errors",
    "BatchBusyError": "applications.batch.record",
    "BoardError": "kondo.driver.board",
    "BodyError": "bodies.mass_properties",
    "BoneMeshError": "anatomy.errors",
    "Box": "contact",
    "CalibrationError": "observation.posture.calibrate",
    "Check": "results.check",
    "ChecksumError": "kondo.protocol.frames",
    "ClusterError": "applications.batch.workers",
    "CommandWithNextCall": "dynamics.controller",
    "CompositeActuation": "actuation",
    "ContactError": "contact.joint.contact_errors",
    "ContactProblemError": "contact.problem.contact_problem",
    "ContactTable": "results.contact_table",
    "ControlError": "control.task.whole_body",
    "ControlState": "dynamics.controller",
    "Controller": "dynamics.controller",
    "CouplingError": "soft.errors",
    "CurvatureSumError": "contact.joint.contact_errors",
    "DoubtfulResultError": "cli.exit_codes",
    "Event": "results.events",
    "ExpressionError": "core.expressions",
    "FesMuscles": "actuation",
    "FootSensor": "dynamics.sensors",
    "ForbiddenMotionError": "contact.joint.contact_errors",
    "ForceComparison": "analysis.force_comparison",
    "ForcePlate": "observation.markers.force_plate",
    "FrameView": "models.frame_view",
    "GeneralSystem": "dynamics.general_system",
    "Ground": "contact",
    "GroundReaction": "observation.markers.ground_reaction",
    "HalfSpace": "contact",
    "HeightField": "contact",
    "IdealTorque": "actuation",
    "ImageStackError": "anatomy.errors",
    "Imu": "dynamics.sensors",
    "IntegrationError": "dynamics.integrators",
    "InverseDynamics": "analysis.inverse_dynamics",
    "JointCommandError": "kondo.driver.safety",
    "JointEncoders": "dynamics.sensors",
    "JointTrajectoryError": "control.trajectories.joint_trajectory",
    "LinkCoordinates": "models.link_coordinates",
    "LinkError": "kondo.protocol.serial_port",
    "MarkerFileError": "observation.markers.errors",
    "MarkerSet": "observation.markers.marker_set",
    "MarkerSetDraft": "observation.draft.draft_set",
    "MarkerSetDraftError": "observation.draft.draft_set",
    "MarkerTrial": "observation.markers.trial",
    "MeasuredState": "observation.base.feedback",
    "Model": "models",
    "MotionFileError": "kondo.motion.motion_file",
    "MuscleError": "actuation.muscle",
    "NetworkConnectionError": "soft.errors",
    "NoAnswerError": "kondo.protocol.link",
    "NoBipedError": "models.legs.chains",
    "NoContactError": "contact.joint.contact_errors",
    "NotFreedError": "kondo.driver.board",
    "ObservationError": "observation.base.measurements",
    "ObserverFeedback": "observation.base.feedback",
    "PortChoiceError": "kondo.protocol.ports",
    "PortError": "kondo.protocol.serial_port",
    "PostureLaw": "control.trajectories.posture_law",
    "ProtocolError": "kondo.protocol.frames",
    "Push": "dynamics.pushes",
    "Reconstruction": "observation.posture.result",
    "RetargetError": "control.retargeting.errors",
    "RetargetSettings": "control.retargeting.settings",
    "RobotMotion": "control.retargeting.robot_motion",
    "RobotStateError": "kondo.driver.robot_health",
    "Run": "results.run",
    "RunComparison": "analysis.run_comparison",
    "Sample": "results.sample",
    "ScreeningError": "observation.screening.findings",
    "ScrewDriveMotors": "actuation",
    "Sensor": "dynamics.sensors",
    "Servo": "actuation",
    "ReachError": "control.walking.whole_body_ik",
    "SettingError": "control.walking.sole_legs",
    "Signal": "results.signal",
    "SignalErrors": "dynamics.sensors",
    "SimulatedBodyError": "kondo.emulation.simulated_robot",
    "Simulation": "dynamics.simulation",
    "SimulationError": "dynamics.simulation_error",
    "SoftError": "soft.errors",
    "StateEquations": "dynamics.event_driven.state_equations",
    "StepError": "dynamics.stepper",
    "StreamError": "kondo.driver.stream",
    "Subject": "observation.posture.subject",
    "SurfaceError": "contact.joint.contact_errors",
    "TorqueLaw": "actuation.torque_law",
    "TrajectoryError": "control.trajectories.trajectory",
    "TrajectoryFileError": "control.trajectories.traj3",
    "TriangleMesh": "contact",
    "UnknownPersonError": "applications.person",
    "UnsupportedShapeError": "applications.body_files",
    "UnreachableError": "control.bip.inverse_task",
    "UnstableStepError": "soft.errors",
    "Verdict": "observation.posture.verdict",
    "GaitCycle": "control.gait.gait_cycle",
    "GaitSettings": "control.gait.gait_cycle",
    "GaitWalk": "control.gait.gait_walk",
    "SelfCollisionError": "kondo.driver.self_collision",
    "Walk": "control.walking.walk",
    "WalkSettings": "control.walking.settings",
    "WalkStreamError": "kondo.driver.walk_stream",
    "WristRunFileError": "anatomy.errors",
    "animate": "view.film.animation",
    "calibrate": "observation.posture.calibrate",
    "compare_runs": "analysis.run_comparison",
    "compare_with_plates": "analysis.force_comparison",
    "draft_marker_set": "observation.draft.draft_set",
    "export_model": "view.scene_files.scene_file",
    "inverse_dynamics": "analysis.inverse_dynamics",
    "load_marker_set": "observation.markers.marker_set",
    "load_model": "models",
    "load_reconstruction": "observation.posture.result_file",
    "load_run": "results.run",
    "load_subject": "observation.posture.subject",
    "read_force_file": "observation.markers.force_file",
    "read_markers": "observation.markers.read",
    "read_reconstruction_parameters": "observation.posture.reconstruction_parameters",
    "read_sensors": "dynamics.sensors",
    "reconstruct": "applications.reconstruction",
    "report": "view.reports.report",
    "retarget": "applications.retarget",
    "simulate": "applications.simulate",
    "sweep": "applications.sweep.sweeps",
    "write_osim": "observation.posture.osim_file",
    "write_reconstruction_parameters": "observation.posture.reconstruction_parameters",
}
_RENAMED = {"report": "write_report"}
"""Names that are others in their modules."""

__all__ = [
    "Actuation",
    "ActuationError",
    "AnatomyError",
    "BallModelFileError",
    "BatchBusyError",
    "BoardError",
    "BodyError",
    "BoneMeshError",
    "Box",
    "CalibrationError",
    "Check",
    "ChecksumError",
    "ClusterError",
    "CommandWithNextCall",
    "CompositeActuation",
    "ConfigurationError",
    "ContactError",
    "ContactProblemError",
    "ContactTable",
    "ControlError",
    "ControlState",
    "Controller",
    "CouplingError",
    "CurvatureSumError",
    "DoubtfulResultError",
    "Event",
    "ExpressionError",
    "FesMuscles",
    "FileError",
    "FileWriteError",
    "FootSensor",
    "ForbiddenMotionError",
    "ForceComparison",
    "ForcePlate",
    "FrameView",
    "GeneralSystem",
    "Ground",
    "GroundReaction",
    "HalfSpace",
    "HeightField",
    "HumansError",
    "IdealTorque",
    "ImageStackError",
    "Imu",
    "IntegrationError",
    "InverseDynamics",
    "JointCommandError",
    "JointEncoders",
    "JointTrajectoryError",
    "LinkCoordinates",
    "LinkError",
    "MarkerFileError",
    "MarkerSet",
    "MarkerSetDraft",
    "MarkerSetDraftError",
    "MarkerTrial",
    "MeasuredState",
    "MissingDependencyError",
    "Model",
    "ModelFileError",
    "MotionFileError",
    "MuscleError",
    "NetworkConnectionError",
    "NoAnswerError",
    "NoBipedError",
    "NoContactError",
    "NotFreedError",
    "ObservationError",
    "ObserverFeedback",
    "ParameterError",
    "PortChoiceError",
    "PortError",
    "PostureLaw",
    "ProtocolError",
    "Push",
    "Reconstruction",
    "RetargetError",
    "RetargetSettings",
    "RobotMotion",
    "RobotStateError",
    "Run",
    "RunComparison",
    "RunFileError",
    "Sample",
    "ScreeningError",
    "ScrewDriveMotors",
    "Sensor",
    "Servo",
    "ReachError",
    "SettingError",
    "Signal",
    "SignalErrors",
    "SimulatedBodyError",
    "Simulation",
    "SimulationError",
    "SoftError",
    "StateEquations",
    "StepError",
    "StreamError",
    "Subject",
    "SurfaceError",
    "TorqueLaw",
    "TrajectoryError",
    "TrajectoryFileError",
    "TriangleMesh",
    "UnknownModelError",
    "UnknownPersonError",
    "UnreachableError",
    "UnsupportedShapeError",
    "UnstableStepError",
    "Verdict",
    "GaitCycle",
    "GaitSettings",
    "GaitWalk",
    "SelfCollisionError",
    "Walk",
    "WalkSettings",
    "WalkStreamError",
    "WristRunFileError",
    "__version__",
    "animate",
    "calibrate",
    "compare_runs",
    "compare_with_plates",
    "draft_marker_set",
    "export_model",
    "inverse_dynamics",
    "load_marker_set",
    "load_model",
    "load_reconstruction",
    "load_run",
    "load_subject",
    "read_force_file",
    "read_markers",
    "read_reconstruction_parameters",
    "read_sensors",
    "reconstruct",
    "report",
    "retarget",
    "simulate",
    "sweep",
    "write_osim",
    "write_reconstruction_parameters",
]


def __getattr__(name: str) -> object:
    """Import a part of the library at its first use."""
    if name not in _MODULES:
        raise AttributeError(f"module 'humans_sim' has no attribute '{name}'")
    module = import_module(f"humans_sim.{_MODULES[name]}")
    value: object = getattr(module, _RENAMED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, whether or not they are loaded yet."""
    return sorted(__all__)
