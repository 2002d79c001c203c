# SPDX-License-Identifier: Apache-2.0
"""Soft things: mass-interaction networks, pin screens, couplings, implicit surfaces.

After A. Habibi, "Visualisation d'objets très déformables" (Grenoble, 1997).
"""

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
    OPERATORS,
    ColourLaw,
    Footprints,
    GroundHistory,
    footprints_of,
    ground_history,
    picture,
    relief,
)
from humans_sim.soft.ground.pin_screen import (
    ConservingScreen,
    Markers,
    PinScreen,
    PistonLaw,
)
from humans_sim.soft.ground.screen_design import (
    PROTOTYPES,
    ScreenLaw,
    design,
    line_kernel,
    membrane_kernel,
    static_shape,
)
from humans_sim.soft.networks.admittance import (
    CoatWindow,
    Influence,
    Reduction,
    classify,
    coat_window,
    cut_error,
    may_be_geometric,
    may_be_rigid,
    transmission_losses,
)
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
from humans_sim.soft.networks.network import (
    LPoint,
    MPoint,
    Network,
    agglomerate,
    box,
    line,
    ring,
    sheet,
)
from humans_sim.soft.networks.network_file import load_network
from humans_sim.soft.networks.puppet import GeometricCoat
from humans_sim.soft.networks.simulation import (
    Energy,
    Floor,
    ImplicitSimulation,
    NetworkSimulation,
)
from humans_sim.soft.networks.stability import (
    StabilityReport,
    cell_radius,
    is_in_triangle,
    stability_report,
)
from humans_sim.soft.networks.stages import (
    ModelLink,
    Partition,
    StagedSimulation,
    partition,
)
from humans_sim.soft.skin.body_shape import BodyShape, body_shape
from humans_sim.soft.skin.coat import BodyBall, Coat, Piece
from humans_sim.soft.skin.implicit_surfaces import (
    Blend,
    Blob,
    Contour,
    DistanceField,
    Field,
    SegmentField,
    contour,
    mesh_of,
    net_of,
)
from humans_sim.soft.skin.making import has_skin, make_skin, save_skinned, skin_of
from humans_sim.soft.skin.skin import Skin

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
