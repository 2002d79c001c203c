# SPDX-License-Identifier: Apache-2.0
"""The public names: each once, with the module that it is loaded from at first use."""

from humans_sim import anatomy as anatomy
from humans_sim import bodies as bodies
from humans_sim import errors as errors
from humans_sim import kondo as kondo
from humans_sim import soft as soft
from humans_sim.actuation import QUADRICEPS as QUADRICEPS
from humans_sim.actuation import CommandSignal as CommandSignal
from humans_sim.actuation import CompositeActuation as CompositeActuation
from humans_sim.actuation import FesMuscles as FesMuscles
from humans_sim.actuation import IdealTorque as IdealTorque
from humans_sim.actuation import KneeGeometry as KneeGeometry
from humans_sim.actuation import MuscleParameters as MuscleParameters
from humans_sim.actuation import ScrewDriveMotors as ScrewDriveMotors
from humans_sim.actuation import Servo as Servo
from humans_sim.actuation import Stimulator as Stimulator
from humans_sim.actuation import simulate_muscle as simulate_muscle
from humans_sim.actuation.hoist import Hoist as Hoist
from humans_sim.actuation.hoist import SuspendedActuation as SuspendedActuation
from humans_sim.actuation.ideal_torque import TorqueLaw as TorqueLaw
from humans_sim.actuation.robots import RobotSetup as RobotSetup
from humans_sim.analysis.footfalls import foot_phases as foot_phases
from humans_sim.analysis.footfalls import sinkages as sinkages
from humans_sim.analysis.force_comparison import ForceComparison as ForceComparison
from humans_sim.analysis.force_comparison import (
    compare_with_plates as compare_with_plates,
)
from humans_sim.analysis.gait import WalkSummary as WalkSummary
from humans_sim.analysis.inverse_dynamics import InverseDynamics as InverseDynamics
from humans_sim.analysis.inverse_dynamics import inverse_dynamics as inverse_dynamics
from humans_sim.analysis.run_comparison import RunComparison as RunComparison
from humans_sim.analysis.run_comparison import compare_runs as compare_runs
from humans_sim.analysis.run_comparison import observe_run as observe_run
from humans_sim.anatomy import HandMotion as HandMotion
from humans_sim.anatomy import Ligament as Ligament
from humans_sim.anatomy import Ligaments as Ligaments
from humans_sim.anatomy import Wrist as Wrist
from humans_sim.anatomy import WristRun as WristRun
from humans_sim.anatomy import ball_model as ball_model
from humans_sim.anatomy import load_wrist as load_wrist
from humans_sim.anatomy import load_wrist_run as load_wrist_run
from humans_sim.anatomy import move_quasistatic as move_quasistatic
from humans_sim.anatomy import move_wrist as move_wrist
from humans_sim.applications.batch.batches import plan_batch as plan_batch
from humans_sim.applications.batch.batches import run_batch as run_batch
from humans_sim.applications.batch.sweeps import sweep as sweep
from humans_sim.applications.batch.trial import TrialSettings as TrialSettings
from humans_sim.applications.person import Person as Person
from humans_sim.applications.reconstruction import reconstruct as reconstruct
from humans_sim.applications.retarget import retarget as retarget
from humans_sim.applications.scenarios import read_scenario as read_scenario
from humans_sim.applications.scenarios import simulate as simulate
from humans_sim.applications.walk_control import rising_walker as rising_walker
from humans_sim.applications.walk_control import walking_robot as walking_robot
from humans_sim.bodies import RigidBodies as RigidBodies
from humans_sim.contact import Box as Box
from humans_sim.contact import HalfSpace as HalfSpace
from humans_sim.contact.geometry.ground import Ground as Ground
from humans_sim.contact.geometry.terrain import HeightField as HeightField
from humans_sim.contact.geometry.terrain import TriangleMesh as TriangleMesh
from humans_sim.contact.joint.contact_joint import ContactJoint as ContactJoint
from humans_sim.contact.joint.surface_shapes import Plane as Plane
from humans_sim.contact.joint.surface_shapes import Sphere as Sphere
from humans_sim.contact.joint.surface_shapes import Torus as Torus
from humans_sim.contact.joint.surfaces import Surface as Surface
from humans_sim.contact.joint.surfaces import SurfacePoint as SurfacePoint
from humans_sim.control.bip.control import BipControl as BipControl
from humans_sim.control.bip.task import BipTask as BipTask
from humans_sim.control.bip.task import StepShape as StepShape
from humans_sim.control.bip.task import one_step as one_step
from humans_sim.control.gait.gait_cycle import GaitCycle as GaitCycle
from humans_sim.control.gait.gait_cycle import GaitSettings as GaitSettings
from humans_sim.control.gait.gait_walk import GaitWalk as GaitWalk
from humans_sim.control.retargeting.robot_motion import RobotMotion as RobotMotion
from humans_sim.control.retargeting.settings import RetargetSettings as RetargetSettings
from humans_sim.control.task.task_functions import CentreOfMass as CentreOfMass
from humans_sim.control.task.task_functions import FramePose as FramePose
from humans_sim.control.task.task_functions import JointTask as JointTask
from humans_sim.control.task.task_law import TaskLaw as TaskLaw
from humans_sim.control.task.whole_body import WholeBody as WholeBody
from humans_sim.control.trajectories.motion import PostureLaw as PostureLaw
from humans_sim.control.trajectories.trajectory import ContactPhase as ContactPhase
from humans_sim.control.trajectories.trajectory import Trajectory as Trajectory
from humans_sim.control.trajectories.trajectory import read_traj3 as read_traj3
from humans_sim.control.trajectories.trajectory import write_traj3 as write_traj3
from humans_sim.control.walking import Velocity as Velocity
from humans_sim.control.walking import Walker as Walker
from humans_sim.control.walking import WalkPattern as WalkPattern
from humans_sim.control.walking.settings import WalkSettings as WalkSettings
from humans_sim.control.walking.walk import ScheduledCommand as ScheduledCommand
from humans_sim.control.walking.walk import ServoWalk as ServoWalk
from humans_sim.control.walking.walk import Walk as Walk
from humans_sim.core.errors import HumansError as HumansError
from humans_sim.core.version import __version__ as __version__
from humans_sim.dynamics.actuation_interface import Actuation as Actuation
from humans_sim.dynamics.contacts import Contacts as Contacts
from humans_sim.dynamics.controller import CommandWithNextCall as CommandWithNextCall
from humans_sim.dynamics.controller import Controller as Controller
from humans_sim.dynamics.controller import ControlState as ControlState
from humans_sim.dynamics.event_driven.state_equations import (
    StateEquations as StateEquations,
)
from humans_sim.dynamics.model_system import ModelSystem as ModelSystem
from humans_sim.dynamics.problems import GeneralSystem as GeneralSystem
from humans_sim.dynamics.pushes import Push as Push
from humans_sim.dynamics.scenes import SceneBody as SceneBody
from humans_sim.dynamics.scenes import SceneSystem as SceneSystem
from humans_sim.dynamics.sensor import Sensor as Sensor
from humans_sim.dynamics.sensor import SignalErrors as SignalErrors
from humans_sim.dynamics.sensors import FootSensor as FootSensor
from humans_sim.dynamics.sensors import Imu as Imu
from humans_sim.dynamics.sensors import JointEncoders as JointEncoders
from humans_sim.dynamics.sensors import read_sensors as read_sensors
from humans_sim.dynamics.simulation import Simulation as Simulation
from humans_sim.dynamics.surfaces import RollingBody as RollingBody
from humans_sim.dynamics.surfaces import rolling_bodies as rolling_bodies
from humans_sim.dynamics.worlds import Worlds as Worlds
from humans_sim.kondo import PosePlayer as PosePlayer
from humans_sim.kondo import PoseServo as PoseServo
from humans_sim.kondo.driver.robot import KondoRobot as KondoRobot
from humans_sim.kondo.driver.robot_settings import load_robot as load_robot
from humans_sim.kondo.emulation.emulator import Emulator as Emulator
from humans_sim.kondo.motion.channels import load_channels as load_channels
from humans_sim.kondo.motion.motion_file import KondoMotion as KondoMotion
from humans_sim.kondo.motion.motion_file import read_motion as read_motion
from humans_sim.kondo.motion.motion_file import write_motion as write_motion
from humans_sim.kondo.motion.player import MotionPlayer as MotionPlayer
from humans_sim.models import Model as Model
from humans_sim.models import load_model as load_model
from humans_sim.models.humans_view import FrameView as FrameView
from humans_sim.models.links import LinkCoordinates as LinkCoordinates
from humans_sim.observation.base.drift import DriftRates as DriftRates
from humans_sim.observation.base.feedback import MeasuredState as MeasuredState
from humans_sim.observation.base.feedback import ObserverFeedback as ObserverFeedback
from humans_sim.observation.base.observer import BaseObserver as BaseObserver
from humans_sim.observation.draft.draft_set import MarkerSetDraft as MarkerSetDraft
from humans_sim.observation.draft.draft_set import draft_marker_set as draft_marker_set
from humans_sim.observation.markers import PipelineSettings as PipelineSettings
from humans_sim.observation.markers import write_c3d as write_c3d
from humans_sim.observation.markers import write_trc as write_trc
from humans_sim.observation.markers.force_plate import ForcePlate as ForcePlate
from humans_sim.observation.markers.force_plate import GroundReaction as GroundReaction
from humans_sim.observation.markers.marker_set import MarkerSet as MarkerSet
from humans_sim.observation.markers.marker_set import load_marker_set as load_marker_set
from humans_sim.observation.markers.read import read_markers as read_markers
from humans_sim.observation.markers.synthetic import synthetic_trial as synthetic_trial
from humans_sim.observation.markers.trc_file import read_force_file as read_force_file
from humans_sim.observation.markers.trial import MarkerTrial as MarkerTrial
from humans_sim.observation.posture.calibrate import calibrate as calibrate
from humans_sim.observation.posture.humans_tables import (
    read_reconstruction_parameters as read_reconstruction_parameters,
)
from humans_sim.observation.posture.humans_tables import (
    write_reconstruction_parameters as write_reconstruction_parameters,
)
from humans_sim.observation.posture.live import LivePostures as LivePostures
from humans_sim.observation.posture.opensim_files import write_osim as write_osim
from humans_sim.observation.posture.result import Reconstruction as Reconstruction
from humans_sim.observation.posture.result import Verdict as Verdict
from humans_sim.observation.posture.result import (
    load_reconstruction as load_reconstruction,
)
from humans_sim.observation.posture.solver import PostureSolver as PostureSolver
from humans_sim.observation.posture.subject import Subject as Subject
from humans_sim.observation.posture.subject import load_subject as load_subject
from humans_sim.observation.reconstruction_options import (
    ReconstructionOptions as ReconstructionOptions,
)
from humans_sim.observation.search_settings import SmootherSettings as SmootherSettings
from humans_sim.observation.search_settings import SolverSettings as SolverSettings
from humans_sim.results.check import Check as Check
from humans_sim.results.records import ContactTable as ContactTable
from humans_sim.results.records import Event as Event
from humans_sim.results.records import Sample as Sample
from humans_sim.results.records import Signal as Signal
from humans_sim.results.run import Run as Run
from humans_sim.results.run import load_run as load_run
from humans_sim.soft import DeformableGround as DeformableGround
from humans_sim.soft import Network as Network
from humans_sim.soft import NetworkSimulation as NetworkSimulation
from humans_sim.soft import PinScreen as PinScreen
from humans_sim.soft import footprints_of as footprints_of
from humans_sim.soft import ground_history as ground_history
from humans_sim.soft import load_network as load_network
from humans_sim.soft import stability_report as stability_report
from humans_sim.view.film.animation import animate as animate
from humans_sim.view.reports.report import write_report
from humans_sim.view.scene_files.scenes import export_model as export_model

report = write_report
