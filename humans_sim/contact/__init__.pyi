# SPDX-License-Identifier: Apache-2.0
"""The public names: each once, with the module that it is loaded from at first use."""

from humans_sim.contact.geometry.ground import Ground as Ground
from humans_sim.contact.geometry.ground import Solid as Solid
from humans_sim.contact.geometry.solids import Box as Box
from humans_sim.contact.geometry.solids import HalfSpace as HalfSpace
from humans_sim.contact.geometry.terrain import HeightField as HeightField
from humans_sim.contact.geometry.terrain import TriangleMesh as TriangleMesh
from humans_sim.contact.joint.contact_joint import ContactJoint as ContactJoint
from humans_sim.contact.joint.contact_joint import Joint as Joint
from humans_sim.contact.joint.contact_joint import JointState as JointState
from humans_sim.contact.joint.contact_joint import contact_velocity as contact_velocity
from humans_sim.contact.joint.surface_shapes import Cone as Cone
from humans_sim.contact.joint.surface_shapes import Cylinder as Cylinder
from humans_sim.contact.joint.surface_shapes import Edge as Edge
from humans_sim.contact.joint.surface_shapes import Inside as Inside
from humans_sim.contact.joint.surface_shapes import Plane as Plane
from humans_sim.contact.joint.surface_shapes import Sphere as Sphere
from humans_sim.contact.joint.surface_shapes import Torus as Torus
from humans_sim.contact.joint.surface_shapes import box_edges as box_edges
from humans_sim.contact.joint.surface_shapes import polyhedron_edges as polyhedron_edges
from humans_sim.contact.joint.surfaces import ContactError as ContactError
from humans_sim.contact.joint.surfaces import CurvatureSumError as CurvatureSumError
from humans_sim.contact.joint.surfaces import Ellipsoid as Ellipsoid
from humans_sim.contact.joint.surfaces import (
    ForbiddenMotionError as ForbiddenMotionError,
)
from humans_sim.contact.joint.surfaces import ImplicitSurface as ImplicitSurface
from humans_sim.contact.joint.surfaces import NoContactError as NoContactError
from humans_sim.contact.joint.surfaces import Surface as Surface
from humans_sim.contact.joint.surfaces import SurfaceError as SurfaceError
from humans_sim.contact.joint.surfaces import SurfacePoint as SurfacePoint
