# SPDX-License-Identifier: Apache-2.0
"""The public names: each once, with the module that it is loaded from at first use."""

from humans_sim import errors as errors
from humans_sim.actuation import CompositeActuation as CompositeActuation
from humans_sim.actuation import FesMuscles as FesMuscles
from humans_sim.actuation import IdealTorque as IdealTorque
from humans_sim.actuation import ScrewDriveMotors as ScrewDriveMotors
from humans_sim.actuation import Servo as Servo
from humans_sim.actuation.torque_law import TorqueLaw as TorqueLaw
from humans_sim.analysis.force_comparison import ForceComparison as ForceComparison
from humans_sim.analysis.force_comparison import (
    compare_with_plates as compare_with_plates,
)
from humans_sim.analysis.inverse_dynamics import InverseDynamics as InverseDynamics
from humans_sim.analysis.inverse_dynamics import inverse_dynamics as inverse_dynamics
from humans_sim.analysis.run_comparison import RunComparison as RunComparison
from humans_sim.analysis.run_comparison import compare_runs as compare_runs
from humans_sim.applications.reconstruction import reconstruct as reconstruct
from humans_sim.applications.retarget import retarget as retarget
from humans_sim.applications.simulate import simulate as simulate
from humans_sim.applications.sweep.sweeps import sweep as sweep
from humans_sim.contact import Box as Box
from humans_sim.contact import Ground as Ground
from humans_sim.contact import HalfSpace as HalfSpace
from humans_sim.contact import HeightField as HeightField
from humans_sim.contact import TriangleMesh as TriangleMesh
from humans_sim.control.gait.gait_cycle import GaitCycle as GaitCycle
from humans_sim.control.gait.gait_cycle import GaitSettings as GaitSettings
from humans_sim.control.gait.gait_walk import GaitWalk as GaitWalk
from humans_sim.control.retargeting.robot_motion import RobotMotion as RobotMotion
from humans_sim.control.retargeting.settings import RetargetSettings as RetargetSettings
from humans_sim.control.trajectories.posture_law import PostureLaw as PostureLaw
from humans_sim.control.walking.settings import WalkSettings as WalkSettings
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
from humans_sim.dynamics.general_system import GeneralSystem as GeneralSystem
from humans_sim.dynamics.pushes import Push as Push
from humans_sim.dynamics.sensors import FootSensor as FootSensor
from humans_sim.dynamics.sensors import Imu as Imu
from humans_sim.dynamics.sensors import JointEncoders as JointEncoders
from humans_sim.dynamics.sensors import Sensor as Sensor
from humans_sim.dynamics.sensors import SignalErrors as SignalErrors
from humans_sim.dynamics.sensors import read_sensors as read_sensors
from humans_sim.dynamics.simulation import Simulation as Simulation
from humans_sim.models import Model as Model
from humans_sim.models import load_model as load_model
from humans_sim.models.frame_view import FrameView as FrameView
from humans_sim.models.link_coordinates import LinkCoordinates as LinkCoordinates
from humans_sim.observation.base.feedback import MeasuredState as MeasuredState
from humans_sim.observation.base.feedback import ObserverFeedback as ObserverFeedback
from humans_sim.observation.draft.draft_set import MarkerSetDraft as MarkerSetDraft
from humans_sim.observation.draft.draft_set import draft_marker_set as draft_marker_set
from humans_sim.observation.markers.force_file import read_force_file as read_force_file
from humans_sim.observation.markers.force_plate import ForcePlate as ForcePlate
from humans_sim.observation.markers.ground_reaction import (
    GroundReaction as GroundReaction,
)
from humans_sim.observation.markers.marker_set import MarkerSet as MarkerSet
from humans_sim.observation.markers.marker_set import load_marker_set as load_marker_set
from humans_sim.observation.markers.read import read_markers as read_markers
from humans_sim.observation.markers.trial import MarkerTrial as MarkerTrial
from humans_sim.observation.posture.calibrate import calibrate as calibrate
from humans_sim.observation.posture.osim_file import write_osim as write_osim
from humans_sim.observation.posture.reconstruction_parameters import (
    read_reconstruction_parameters as read_reconstruction_parameters,
)
from humans_sim.observation.posture.reconstruction_parameters import (
    write_reconstruction_parameters as write_reconstruction_parameters,
)
from humans_sim.observation.posture.result import Reconstruction as Reconstruction
from humans_sim.observation.posture.result_file import (
    load_reconstruction as load_reconstruction,
)
from humans_sim.observation.posture.subject import Subject as Subject
from humans_sim.observation.posture.subject import load_subject as load_subject
from humans_sim.observation.posture.verdict import Verdict as Verdict
from humans_sim.results.check import Check as Check
from humans_sim.results.contact_table import ContactTable as ContactTable
from humans_sim.results.events import Event as Event
from humans_sim.results.run import Run as Run
from humans_sim.results.run import load_run as load_run
from humans_sim.results.sample import Sample as Sample
from humans_sim.results.signal import Signal as Signal
from humans_sim.view.film.animation import animate as animate
from humans_sim.view.reports.report import write_report
from humans_sim.view.scene_files.scene_file import export_model as export_model

report = write_report
