# SPDX-License-Identifier: Apache-2.0
"""Soft things: mass-interaction networks, pin screens, couplings, implicit surfaces.

After A. Habibi, "Visualisation d'objets très déformables" (Grenoble, 1997).
"""

from humans_sim.soft.chroma import OPERATORS, ColourLaw, picture, relief
from humans_sim.soft.coats.coat import BodyBall, Coat, Piece
from humans_sim.soft.coupling.influence import (
    CoatWindow,
    Influence,
    classify,
    coat_window,
    cut_error,
)
from humans_sim.soft.coupling.reductions import (
    Reduction,
    may_be_geometric,
    may_be_rigid,
    transmission_losses,
)
from humans_sim.soft.coupling.stages import (
    ModelLink,
    Partition,
    StagedSimulation,
    partition,
)
from humans_sim.soft.errors import (
    CouplingError,
    NetworkConnectionError,
    SoftError,
    UnstableStepError,
)
from humans_sim.soft.ground.deformable_ground import (
    PRESETS,
    DeformableGround,
    PointContact,
)
from humans_sim.soft.ground.footprints import (
    Footprints,
    GroundHistory,
    footprints_of,
    ground_history,
)
from humans_sim.soft.layers.contour import Contour, contour
from humans_sim.soft.layers.geometric_coat import GeometricCoat
from humans_sim.soft.networks.implicit_step import ImplicitSimulation
from humans_sim.soft.networks.laws import (
    Automaton,
    Cohesion,
    DryFriction,
    HollowStop,
    LinkLaw,
    LinkState,
    Plastic,
    Stop,
    Transition,
    ViscoSpring,
)
from humans_sim.soft.networks.network import LPoint, MPoint, Network
from humans_sim.soft.networks.network_file import load_network
from humans_sim.soft.networks.simulation import Energy, Floor, NetworkSimulation
from humans_sim.soft.networks.stability import (
    StabilityReport,
    cell_radius,
    is_in_triangle,
    stability_report,
)
from humans_sim.soft.networks.topologies import agglomerate, box, line, ring, sheet
from humans_sim.soft.screens.conserving import ConservingScreen, PistonLaw
from humans_sim.soft.screens.design import PROTOTYPES, ScreenLaw, design
from humans_sim.soft.screens.pin_screen import Markers, PinScreen
from humans_sim.soft.screens.statics import line_kernel, membrane_kernel, static_shape
from humans_sim.soft.skin.body_shape import BodyShape, body_shape
from humans_sim.soft.skin.link_meshes import save_skinned
from humans_sim.soft.skin.making import has_skin, make_skin, skin_of
from humans_sim.soft.skin.skin import Skin
from humans_sim.soft.surfaces.fields import (
    Blend,
    Blob,
    DistanceField,
    Field,
    SegmentField,
)
from humans_sim.soft.surfaces.polygons import mesh_of, net_of

__all__ = [
    "Automaton",
    "Blend",
    "Blob",
    "BodyBall",
    "BodyShape",
    "Coat",
    "CoatWindow",
    "Cohesion",
    "ColourLaw",
    "ConservingScreen",
    "Contour",
    "CouplingError",
    "DeformableGround",
    "DistanceField",
    "DryFriction",
    "Energy",
    "Field",
    "Floor",
    "Footprints",
    "GeometricCoat",
    "GroundHistory",
    "HollowStop",
    "ImplicitSimulation",
    "Influence",
    "LPoint",
    "LinkLaw",
    "LinkState",
    "MPoint",
    "Markers",
    "ModelLink",
    "Network",
    "NetworkConnectionError",
    "NetworkSimulation",
    "OPERATORS",
    "PRESETS",
    "PROTOTYPES",
    "Partition",
    "Piece",
    "PinScreen",
    "PistonLaw",
    "Plastic",
    "PointContact",
    "Reduction",
    "ScreenLaw",
    "SegmentField",
    "Skin",
    "SoftError",
    "StabilityReport",
    "StagedSimulation",
    "Stop",
    "Transition",
    "UnstableStepError",
    "ViscoSpring",
    "agglomerate",
    "body_shape",
    "box",
    "cell_radius",
    "classify",
    "coat_window",
    "contour",
    "cut_error",
    "design",
    "footprints_of",
    "ground_history",
    "has_skin",
    "is_in_triangle",
    "line",
    "line_kernel",
    "load_network",
    "make_skin",
    "may_be_geometric",
    "may_be_rigid",
    "membrane_kernel",
    "mesh_of",
    "net_of",
    "partition",
    "picture",
    "relief",
    "ring",
    "save_skinned",
    "sheet",
    "skin_of",
    "stability_report",
    "static_shape",
    "transmission_losses",
]
