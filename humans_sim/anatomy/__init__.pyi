# SPDX-License-Identifier: Apache-2.0
"""The public names: each once, with the module that it is loaded from at first use."""

from humans_sim.anatomy.balls.ball_model import BallModel as BallModel
from humans_sim.anatomy.balls.ball_model import ball_model as ball_model
from humans_sim.anatomy.balls.ball_model import inscribe as inscribe
from humans_sim.anatomy.balls.ball_model import load_ball_model as load_ball_model
from humans_sim.anatomy.balls.covers import fill_balls as fill_balls
from humans_sim.anatomy.balls.covers import octree_cover as octree_cover
from humans_sim.anatomy.balls.covers import reduce_cover as reduce_cover
from humans_sim.anatomy.balls.covers import surface_error as surface_error
from humans_sim.anatomy.balls.distance_maps import MASKS as MASKS
from humans_sim.anatomy.balls.distance_maps import chamfer_map as chamfer_map
from humans_sim.anatomy.balls.distance_maps import (
    squared_distance_map as squared_distance_map,
)
from humans_sim.anatomy.detection.contacts import ContactDetector as ContactDetector
from humans_sim.anatomy.detection.contacts import Contacts as Contacts
from humans_sim.anatomy.detection.contacts import Poses as Poses
from humans_sim.anatomy.detection.contacts import detect as detect
from humans_sim.anatomy.detection.pair_list import PairList as PairList
from humans_sim.anatomy.errors import AnatomyError as AnatomyError
from humans_sim.anatomy.errors import BallModelFileError as BallModelFileError
from humans_sim.anatomy.errors import BoneMeshError as BoneMeshError
from humans_sim.anatomy.errors import ImageStackError as ImageStackError
from humans_sim.anatomy.errors import WristRunFileError as WristRunFileError
from humans_sim.anatomy.mechanics.cash_karp import cash_karp as cash_karp
from humans_sim.anatomy.mechanics.cash_karp import runge_kutta as runge_kutta
from humans_sim.anatomy.mechanics.ligaments import Ligament as Ligament
from humans_sim.anatomy.mechanics.ligaments import Ligaments as Ligaments
from humans_sim.anatomy.mechanics.penalty import PenaltyLaw as PenaltyLaw
from humans_sim.anatomy.mechanics.penalty import percussion as percussion
from humans_sim.anatomy.volumes.image_stack import ImageStack as ImageStack
from humans_sim.anatomy.volumes.image_stack import read_stack as read_stack
from humans_sim.anatomy.volumes.image_stack import stack_of as stack_of
from humans_sim.anatomy.volumes.mesh_repair import prepare_mesh as prepare_mesh
from humans_sim.anatomy.volumes.mesh_repair import read_bone as read_bone
from humans_sim.anatomy.volumes.segmentation import edges as edges
from humans_sim.anatomy.volumes.segmentation import (
    fill_between_slices as fill_between_slices,
)
from humans_sim.anatomy.volumes.segmentation import hysteresis as hysteresis
from humans_sim.anatomy.volumes.segmentation import link_contours as link_contours
from humans_sim.anatomy.volumes.segmentation import segment as segment
from humans_sim.anatomy.volumes.volume import Volume as Volume
from humans_sim.anatomy.volumes.volume import of_ball as of_ball
from humans_sim.anatomy.volumes.volume import of_box as of_box
from humans_sim.anatomy.volumes.volume import of_ellipsoid as of_ellipsoid
from humans_sim.anatomy.volumes.volume import of_field as of_field
from humans_sim.anatomy.volumes.volume import voxelise as voxelise
from humans_sim.anatomy.wrist.bone_steps import BoneSteps as BoneSteps
from humans_sim.anatomy.wrist.bone_steps import StepNumbers as StepNumbers
from humans_sim.anatomy.wrist.hand_motion import HandMotion as HandMotion
from humans_sim.anatomy.wrist.penalty_run import move_by_penalty as move_by_penalty
from humans_sim.anatomy.wrist.penalty_run import move_quasistatic as move_quasistatic
from humans_sim.anatomy.wrist.plausibility import (
    PlausibilityReport as PlausibilityReport,
)
from humans_sim.anatomy.wrist.plausibility import plausibility as plausibility
from humans_sim.anatomy.wrist.wrist import Bone as Bone
from humans_sim.anatomy.wrist.wrist import Wrist as Wrist
from humans_sim.anatomy.wrist.wrist import mass_of_balls as mass_of_balls
from humans_sim.anatomy.wrist.wrist import mass_of_mesh as mass_of_mesh
from humans_sim.anatomy.wrist.wrist import mass_of_volume as mass_of_volume
from humans_sim.anatomy.wrist.wrist_files import load_wrist as load_wrist
from humans_sim.anatomy.wrist.wrist_run import Joints as Joints
from humans_sim.anatomy.wrist.wrist_run import WristRun as WristRun
from humans_sim.anatomy.wrist.wrist_run import load_wrist_run as load_wrist_run
from humans_sim.anatomy.wrist.wrist_run import move_wrist as move_wrist
