# SPDX-License-Identifier: Apache-2.0
"""Contact geometry: what can be touched, with what, and contact as a joint."""

from humans_sim.contact.geometry.ground import Ground, Solid
from humans_sim.contact.geometry.solids import Box, HalfSpace
from humans_sim.contact.geometry.terrain import HeightField, TriangleMesh
from humans_sim.contact.joint.contact_joint import (
    ContactJoint,
    Joint,
    JointState,
    contact_velocity,
)
from humans_sim.contact.joint.surface_shapes import (
    Cone,
    Cylinder,
    Edge,
    Inside,
    Plane,
    Sphere,
    Torus,
    box_edges,
    polyhedron_edges,
)
from humans_sim.contact.joint.surfaces import (
    ContactError,
    CurvatureSumError,
    Ellipsoid,
    ForbiddenMotionError,
    ImplicitSurface,
    NoContactError,
    Surface,
    SurfaceError,
    SurfacePoint,
)

__all__ = [
    "Box",
    "Cone",
    "ContactError",
    "ContactJoint",
    "CurvatureSumError",
    "Cylinder",
    "Edge",
    "Ellipsoid",
    "ForbiddenMotionError",
    "Ground",
    "HalfSpace",
    "HeightField",
    "ImplicitSurface",
    "Inside",
    "Joint",
    "JointState",
    "NoContactError",
    "Plane",
    "Solid",
    "Sphere",
    "Surface",
    "SurfaceError",
    "SurfacePoint",
    "Torus",
    "TriangleMesh",
    "box_edges",
    "contact_velocity",
    "polyhedron_edges",
]
