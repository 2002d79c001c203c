# SPDX-License-Identifier: Apache-2.0
"""The public names: each once, with the module that it is loaded from at first use."""

from humans_sim.soft.errors import CouplingError as CouplingError
from humans_sim.soft.errors import NetworkConnectionError as NetworkConnectionError
from humans_sim.soft.errors import SoftError as SoftError
from humans_sim.soft.errors import UnstableStepError as UnstableStepError
from humans_sim.soft.ground.deformable_ground import PRESETS as PRESETS
from humans_sim.soft.ground.deformable_ground import (
    DeformableGround as DeformableGround,
)
from humans_sim.soft.ground.deformable_ground import PointContact as PointContact
from humans_sim.soft.ground.footprints import OPERATORS as OPERATORS
from humans_sim.soft.ground.footprints import ColourLaw as ColourLaw
from humans_sim.soft.ground.footprints import Footprints as Footprints
from humans_sim.soft.ground.footprints import GroundHistory as GroundHistory
from humans_sim.soft.ground.footprints import footprints_of as footprints_of
from humans_sim.soft.ground.footprints import ground_history as ground_history
from humans_sim.soft.ground.footprints import picture as picture
from humans_sim.soft.ground.footprints import relief as relief
from humans_sim.soft.ground.pin_screen import ConservingScreen as ConservingScreen
from humans_sim.soft.ground.pin_screen import Markers as Markers
from humans_sim.soft.ground.pin_screen import PinScreen as PinScreen
from humans_sim.soft.ground.pin_screen import PistonLaw as PistonLaw
from humans_sim.soft.ground.screen_design import PROTOTYPES as PROTOTYPES
from humans_sim.soft.ground.screen_design import ScreenLaw as ScreenLaw
from humans_sim.soft.ground.screen_design import design as design
from humans_sim.soft.ground.screen_design import line_kernel as line_kernel
from humans_sim.soft.ground.screen_design import membrane_kernel as membrane_kernel
from humans_sim.soft.ground.screen_design import static_shape as static_shape
from humans_sim.soft.networks.admittance import CoatWindow as CoatWindow
from humans_sim.soft.networks.admittance import Influence as Influence
from humans_sim.soft.networks.admittance import Reduction as Reduction
from humans_sim.soft.networks.admittance import classify as classify
from humans_sim.soft.networks.admittance import coat_window as coat_window
from humans_sim.soft.networks.admittance import cut_error as cut_error
from humans_sim.soft.networks.admittance import may_be_geometric as may_be_geometric
from humans_sim.soft.networks.admittance import may_be_rigid as may_be_rigid
from humans_sim.soft.networks.admittance import (
    transmission_losses as transmission_losses,
)
from humans_sim.soft.networks.laws import Automaton as Automaton
from humans_sim.soft.networks.laws import Cohesion as Cohesion
from humans_sim.soft.networks.laws import DryFriction as DryFriction
from humans_sim.soft.networks.laws import HollowStop as HollowStop
from humans_sim.soft.networks.laws import LinkLaw as LinkLaw
from humans_sim.soft.networks.laws import LinkState as LinkState
from humans_sim.soft.networks.laws import Plastic as Plastic
from humans_sim.soft.networks.laws import Stop as Stop
from humans_sim.soft.networks.laws import Transition as Transition
from humans_sim.soft.networks.laws import ViscoSpring as ViscoSpring
from humans_sim.soft.networks.network import LPoint as LPoint
from humans_sim.soft.networks.network import MPoint as MPoint
from humans_sim.soft.networks.network import Network as Network
from humans_sim.soft.networks.network import agglomerate as agglomerate
from humans_sim.soft.networks.network import box as box
from humans_sim.soft.networks.network import line as line
from humans_sim.soft.networks.network import ring as ring
from humans_sim.soft.networks.network import sheet as sheet
from humans_sim.soft.networks.network_file import load_network as load_network
from humans_sim.soft.networks.puppet import GeometricCoat as GeometricCoat
from humans_sim.soft.networks.simulation import Energy as Energy
from humans_sim.soft.networks.simulation import Floor as Floor
from humans_sim.soft.networks.simulation import ImplicitSimulation as ImplicitSimulation
from humans_sim.soft.networks.simulation import NetworkSimulation as NetworkSimulation
from humans_sim.soft.networks.stability import StabilityReport as StabilityReport
from humans_sim.soft.networks.stability import cell_radius as cell_radius
from humans_sim.soft.networks.stability import is_in_triangle as is_in_triangle
from humans_sim.soft.networks.stability import stability_report as stability_report
from humans_sim.soft.networks.stages import ModelLink as ModelLink
from humans_sim.soft.networks.stages import Partition as Partition
from humans_sim.soft.networks.stages import StagedSimulation as StagedSimulation
from humans_sim.soft.networks.stages import partition as partition
from humans_sim.soft.skin.body_shape import BodyShape as BodyShape
from humans_sim.soft.skin.body_shape import body_shape as body_shape
from humans_sim.soft.skin.coat import BodyBall as BodyBall
from humans_sim.soft.skin.coat import Coat as Coat
from humans_sim.soft.skin.coat import Piece as Piece
from humans_sim.soft.skin.implicit_surfaces import Blend as Blend
from humans_sim.soft.skin.implicit_surfaces import Blob as Blob
from humans_sim.soft.skin.implicit_surfaces import Contour as Contour
from humans_sim.soft.skin.implicit_surfaces import DistanceField as DistanceField
from humans_sim.soft.skin.implicit_surfaces import Field as Field
from humans_sim.soft.skin.implicit_surfaces import SegmentField as SegmentField
from humans_sim.soft.skin.implicit_surfaces import contour as contour
from humans_sim.soft.skin.implicit_surfaces import mesh_of as mesh_of
from humans_sim.soft.skin.implicit_surfaces import net_of as net_of
from humans_sim.soft.skin.skin import Skin as Skin
from humans_sim.soft.skin.skin import has_skin as has_skin
from humans_sim.soft.skin.skin import make_skin as make_skin
from humans_sim.soft.skin.skin import save_skinned as save_skinned
from humans_sim.soft.skin.skin import skin_of as skin_of
