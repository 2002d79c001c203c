# SPDX-License-Identifier: Apache-2.0
"""Bones: volumes, ball models, contacts of balls, ligaments, the carpus.

After A. F. Perez, "Modélisation de la dynamique du carpe" (Grenoble, 1994).
"""

from humans_sim.anatomy.balls.ball_model import BallModel, load_ball_model
from humans_sim.anatomy.balls.covers import fill_balls, octree_cover, reduce_cover
from humans_sim.anatomy.balls.distance_maps import (
    MASKS,
    chamfer_map,
    squared_distance_map,
)
from humans_sim.anatomy.balls.inscribed import inscribe
from humans_sim.anatomy.balls.medial_axis import ball_model
from humans_sim.anatomy.balls.mesh_error import surface_error
from humans_sim.anatomy.detection.contacts import (
    ContactDetector,
    Contacts,
    Poses,
    detect,
)
from humans_sim.anatomy.detection.pair_list import PairList
from humans_sim.anatomy.errors import (
    AnatomyError,
    BallModelFileError,
    BoneMeshError,
    ImageStackError,
    WristRunFileError,
)
from humans_sim.anatomy.mechanics.bone_mass import (
    mass_of_balls,
    mass_of_mesh,
    mass_of_volume,
)
from humans_sim.anatomy.mechanics.cash_karp import cash_karp, runge_kutta
from humans_sim.anatomy.mechanics.ligaments import Ligament, Ligaments
from humans_sim.anatomy.mechanics.penalty import PenaltyLaw
from humans_sim.anatomy.mechanics.percussion import percussion
from humans_sim.anatomy.volumes.contour_links import link_contours
from humans_sim.anatomy.volumes.image_stack import ImageStack, stack_of
from humans_sim.anatomy.volumes.mesh_repair import prepare_mesh, read_bone
from humans_sim.anatomy.volumes.mesh_volume import voxelise
from humans_sim.anatomy.volumes.segmentation import edges, hysteresis, segment
from humans_sim.anatomy.volumes.shapes import of_ball, of_box, of_ellipsoid, of_field
from humans_sim.anatomy.volumes.slice_interpolation import fill_between_slices
from humans_sim.anatomy.volumes.stack_files import read_stack
from humans_sim.anatomy.volumes.volume import Volume
from humans_sim.anatomy.wrist.bone_steps import BoneSteps, StepNumbers
from humans_sim.anatomy.wrist.hand_motion import HandMotion
from humans_sim.anatomy.wrist.joints import Joints
from humans_sim.anatomy.wrist.penalty_run import move_by_penalty
from humans_sim.anatomy.wrist.plausibility import PlausibilityReport, plausibility
from humans_sim.anatomy.wrist.quasistatic import move_quasistatic
from humans_sim.anatomy.wrist.wrist import Bone, Wrist
from humans_sim.anatomy.wrist.wrist_files import load_wrist
from humans_sim.anatomy.wrist.wrist_run import WristRun, load_wrist_run, move_wrist

__all__ = [
    "AnatomyError",
    "BallModel",
    "BallModelFileError",
    "Bone",
    "BoneMeshError",
    "BoneSteps",
    "ContactDetector",
    "Contacts",
    "HandMotion",
    "ImageStack",
    "ImageStackError",
    "Joints",
    "Ligament",
    "Ligaments",
    "MASKS",
    "PairList",
    "PenaltyLaw",
    "PlausibilityReport",
    "Poses",
    "StepNumbers",
    "Volume",
    "Wrist",
    "WristRun",
    "WristRunFileError",
    "ball_model",
    "cash_karp",
    "chamfer_map",
    "detect",
    "edges",
    "fill_balls",
    "fill_between_slices",
    "hysteresis",
    "inscribe",
    "link_contours",
    "load_ball_model",
    "load_wrist",
    "load_wrist_run",
    "mass_of_balls",
    "mass_of_mesh",
    "mass_of_volume",
    "move_by_penalty",
    "move_quasistatic",
    "move_wrist",
    "octree_cover",
    "of_ball",
    "of_box",
    "of_ellipsoid",
    "of_field",
    "percussion",
    "plausibility",
    "prepare_mesh",
    "read_bone",
    "read_stack",
    "reduce_cover",
    "runge_kutta",
    "segment",
    "squared_distance_map",
    "stack_of",
    "surface_error",
    "voxelise",
]
