# SPDX-License-Identifier: Apache-2.0
"""Bones: volumes, ball models, contacts of balls, ligaments, the carpus.

After A. F. Perez, "Modélisation de la dynamique du carpe" (Grenoble, 1994).
"""

from humans_sim.anatomy.balls.ball_model import (
    BallModel,
    ball_model,
    inscribe,
    load_ball_model,
)
from humans_sim.anatomy.balls.covers import (
    fill_balls,
    octree_cover,
    reduce_cover,
    surface_error,
)
from humans_sim.anatomy.balls.distance_maps import (
    MASKS,
    chamfer_map,
    squared_distance_map,
)
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
from humans_sim.anatomy.mechanics.cash_karp import cash_karp, runge_kutta
from humans_sim.anatomy.mechanics.ligaments import Ligament, Ligaments
from humans_sim.anatomy.mechanics.penalty import PenaltyLaw, percussion
from humans_sim.anatomy.volumes.image_stack import ImageStack, read_stack, stack_of
from humans_sim.anatomy.volumes.mesh_repair import prepare_mesh, read_bone
from humans_sim.anatomy.volumes.segmentation import (
    edges,
    fill_between_slices,
    hysteresis,
    link_contours,
    segment,
)
from humans_sim.anatomy.volumes.volume import (
    Volume,
    of_ball,
    of_box,
    of_ellipsoid,
    of_field,
    voxelise,
)
from humans_sim.anatomy.wrist.bone_steps import BoneSteps, StepNumbers
from humans_sim.anatomy.wrist.hand_motion import HandMotion
from humans_sim.anatomy.wrist.penalty_run import move_by_penalty, move_quasistatic
from humans_sim.anatomy.wrist.plausibility import PlausibilityReport, plausibility
from humans_sim.anatomy.wrist.wrist import (
    Bone,
    Wrist,
    mass_of_balls,
    mass_of_mesh,
    mass_of_volume,
)
from humans_sim.anatomy.wrist.wrist_files import load_wrist
from humans_sim.anatomy.wrist.wrist_run import (
    Joints,
    WristRun,
    load_wrist_run,
    move_wrist,
)

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
