# SPDX-License-Identifier: Apache-2.0
"""The typed errors: each once, with the module that it is loaded from at first use."""

from humans_sim.actuation.muscle import MuscleError as MuscleError
from humans_sim.anatomy.errors import AnatomyError as AnatomyError
from humans_sim.anatomy.errors import BallModelFileError as BallModelFileError
from humans_sim.anatomy.errors import BoneMeshError as BoneMeshError
from humans_sim.anatomy.errors import ImageStackError as ImageStackError
from humans_sim.anatomy.errors import WristRunFileError as WristRunFileError
from humans_sim.applications.batch.record import BatchBusyError as BatchBusyError
from humans_sim.applications.batch.runner import ClusterError as ClusterError
from humans_sim.applications.person import UnknownPersonError as UnknownPersonError
from humans_sim.applications.scene_setup import (
    UnsupportedShapeError as UnsupportedShapeError,
)
from humans_sim.bodies.mass_properties import BodyError as BodyError
from humans_sim.cli.signals import DoubtfulResultError as DoubtfulResultError
from humans_sim.contact.joint.surfaces import ContactError as ContactError
from humans_sim.contact.joint.surfaces import CurvatureSumError as CurvatureSumError
from humans_sim.contact.joint.surfaces import (
    ForbiddenMotionError as ForbiddenMotionError,
)
from humans_sim.contact.joint.surfaces import NoContactError as NoContactError
from humans_sim.contact.joint.surfaces import SurfaceError as SurfaceError
from humans_sim.contact.problem.contact_problem import (
    ContactProblemError as ContactProblemError,
)
from humans_sim.control.bip.task import UnreachableError as UnreachableError
from humans_sim.control.retargeting.settings import RetargetError as RetargetError
from humans_sim.control.task.whole_body import ControlError as ControlError
from humans_sim.control.trajectories.joint_trajectory import (
    JointTrajectoryError as JointTrajectoryError,
)
from humans_sim.control.trajectories.trajectory import (
    TrajectoryError as TrajectoryError,
)
from humans_sim.control.trajectories.trajectory import (
    TrajectoryFileError as TrajectoryFileError,
)
from humans_sim.control.walking.whole_body_ik import ReachError as ReachError
from humans_sim.core.errors import ConfigurationError as ConfigurationError
from humans_sim.core.errors import FileError as FileError
from humans_sim.core.errors import FileWriteError as FileWriteError
from humans_sim.core.errors import HumansError as HumansError
from humans_sim.core.errors import MissingDependencyError as MissingDependencyError
from humans_sim.core.errors import ModelFileError as ModelFileError
from humans_sim.core.errors import ParameterError as ParameterError
from humans_sim.core.errors import RunFileError as RunFileError
from humans_sim.core.errors import UnknownModelError as UnknownModelError
from humans_sim.core.expressions import ExpressionError as ExpressionError
from humans_sim.core.settings import SettingError as SettingError
from humans_sim.dynamics.integrators import IntegrationError as IntegrationError
from humans_sim.dynamics.simulation import SimulationError as SimulationError
from humans_sim.dynamics.stepper import ActuationError as ActuationError
from humans_sim.dynamics.stepper import StepError as StepError
from humans_sim.kondo.driver.board import BoardError as BoardError
from humans_sim.kondo.driver.board import NotFreedError as NotFreedError
from humans_sim.kondo.driver.board import RobotStateError as RobotStateError
from humans_sim.kondo.driver.joint_path import StreamError as StreamError
from humans_sim.kondo.driver.safety import JointCommandError as JointCommandError
from humans_sim.kondo.driver.self_collision import (
    SelfCollisionError as SelfCollisionError,
)
from humans_sim.kondo.driver.walk_stream import WalkStreamError as WalkStreamError
from humans_sim.kondo.emulation.simulated_robot import (
    SimulatedBodyError as SimulatedBodyError,
)
from humans_sim.kondo.motion.motion_file import MotionFileError as MotionFileError
from humans_sim.kondo.protocol.link import NoAnswerError as NoAnswerError
from humans_sim.kondo.protocol.rcb1 import ChecksumError as ChecksumError
from humans_sim.kondo.protocol.rcb1 import ProtocolError as ProtocolError
from humans_sim.kondo.protocol.serial_port import LinkError as LinkError
from humans_sim.kondo.protocol.serial_port import PortChoiceError as PortChoiceError
from humans_sim.kondo.protocol.serial_port import PortError as PortError
from humans_sim.models.collision_shapes import MissingMeshError as MissingMeshError
from humans_sim.models.legs import NoBipedError as NoBipedError
from humans_sim.observation.base.observer import ObservationError as ObservationError
from humans_sim.observation.draft.draft_set import (
    MarkerSetDraftError as MarkerSetDraftError,
)
from humans_sim.observation.markers.trial import MarkerFileError as MarkerFileError
from humans_sim.observation.posture.calibrate import (
    CalibrationError as CalibrationError,
)
from humans_sim.observation.screening.screen import ScreeningError as ScreeningError
from humans_sim.soft.errors import CouplingError as CouplingError
from humans_sim.soft.errors import NetworkConnectionError as NetworkConnectionError
from humans_sim.soft.errors import SoftError as SoftError
from humans_sim.soft.errors import UnstableStepError as UnstableStepError
