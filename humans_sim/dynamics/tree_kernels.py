# SPDX-License-Identifier: Apache-2.0
r"""Rigid-body algorithms on a table of links: poses, mass matrix, bias, energies.

Everything is in the world's frame, about its origin: a link's velocity is
:math:`(v_O, \omega)`, a joint's axis the column :math:`(p \times a, a)`, an inertia the
mass, its first moment and its second moments. The composite rigid body and recursive
Newton-Euler algorithms (Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 5
and 6) then need no transformations between links.

Kernels take tables and states as plain tuples, which cost less to pass than named ones,
and name their fields inside: ``TreeTable(*tree)``.

A model's tree is given as arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.core.kernels import kernel, lent, small_matrix
from humans_sim.dynamics.system import (
    normalise_quaternion,
    place_free_base,
    turn_free_base,
)
from humans_sim.models.rotors import add_rotor_effects, add_rotor_inertia


class TreeTable(NamedTuple):
    """Links of a model with a free base and joints of one axis each, and free bodies.

    A base and a free body are roots: they have six velocities, other links one.

    Attributes:
        parent: link that each link turns in (n,); -1 for roots.
        turns: whether its joint turns, otherwise it slides (n,).
        rotation: of the joint's frame in the parent's (n, 3, 3).
        place: of the joint's frame in the parent's (n, 3) [m].
        axis: of the joint in its frame (n, 3).
        mass: (n,) [kg].
        centre: of mass, in the link's frame (n, 3) [m].
        inertia: about the centre of mass, in the link's frame (n, 3, 3) [kg m^2].
        gravity: (3,) [m/s^2].
        armature: inertia on the diagonal of the mass matrix (nv,).
        rotors: table of a model's geared rotors; empty where it has none (m, 16).
        locked: velocities that stay zero (indices).
        straight: whether the joint's frame is turned as the parent's (n,).
        position: first coordinate of each link (n,).
        velocity: first velocity of each link (n,).
        link: that each velocity belongs to (nv,).
        root: of each link, counted from 0 (n,).
        in_world: whether a root's linear velocity is given in the world's frame (n,).
    """

    parent: np.ndarray
    turns: np.ndarray
    rotation: np.ndarray
    place: np.ndarray
    axis: np.ndarray
    mass: np.ndarray
    centre: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    armature: np.ndarray
    rotors: np.ndarray
    locked: np.ndarray
    straight: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    link: np.ndarray
    root: np.ndarray
    in_world: np.ndarray


class TreeState(NamedTuple):
    """Where the links of a tree are.

    Attributes:
        rotation: of the links (n, 3, 3).
        place: of the links (n, 3) [m].
        jacobian: columns of all velocities, linear and angular (6, nv).
        inertia: mass, first moment, second moments xx, yy, zz, xy, yz, xz of each
            link about the world's origin (n, 10).
        twist: velocity of each link at the world's origin, and spin (n, 6).
    """

    rotation: np.ndarray
    place: np.ndarray
    jacobian: np.ndarray
    inertia: np.ndarray
    twist: np.ndarray


@kernel
def tree_state(tree, nv):
    """Arrays for the state of a tree, as a plain tuple; the tree is one, too."""
    links = TreeTable(*tree).parent.shape[0]
    # Column by column, as pinocchio keeps a Jacobian: contacts read one like the other.
    jacobian = np.zeros((nv, 6)).T
    return (
        np.empty((links, 3, 3)),
        np.empty((links, 3)),
        jacobian,
        np.empty((links, 10)),
        np.empty((links, 6)),
    )


@kernel(borrows=True)
def tree_poses(tree, q, state):
    """Rotations and places of all links; the tuple of a :class:`TreeState` changes."""
    table = TreeTable(*tree)
    parent, turns, axis = table.parent, table.turns, table.axis
    fixed, offset, straight = table.rotation, table.place, table.straight
    position, rotation, place = table.position, state[0], state[1]
    for b in range(parent.shape[0]):
        a, o = parent[b], position[b]
        if a < 0:
            x, y, z, w = q[o + 3], q[o + 4], q[o + 5], q[o + 6]
            rotation[b, 0, 0] = 1 - 2 * (y * y + z * z)
            rotation[b, 0, 1] = 2 * (x * y - w * z)
            rotation[b, 0, 2] = 2 * (x * z + w * y)
            rotation[b, 1, 0] = 2 * (x * y + w * z)
            rotation[b, 1, 1] = 1 - 2 * (x * x + z * z)
            rotation[b, 1, 2] = 2 * (y * z - w * x)
            rotation[b, 2, 0] = 2 * (x * z - w * y)
            rotation[b, 2, 1] = 2 * (y * z + w * x)
            rotation[b, 2, 2] = 1 - 2 * (x * x + y * y)
            for i in range(3):
                place[b, i] = q[o + i]
            continue
        angle = q[o]
        a0, a1, a2 = axis[b, 0], axis[b, 1], axis[b, 2]
        cosine, sine = 1.0, 0.0
        if turns[b]:
            cosine, sine = np.cos(angle), np.sin(angle)
        for i in range(3):
            p0, p1, p2 = rotation[a, i, 0], rotation[a, i, 1], rotation[a, i, 2]
            r0, r1, r2 = p0, p1, p2
            if not straight[b]:
                r0 = p0 * fixed[b, 0, 0] + p1 * fixed[b, 1, 0] + p2 * fixed[b, 2, 0]
                r1 = p0 * fixed[b, 0, 1] + p1 * fixed[b, 1, 1] + p2 * fixed[b, 2, 1]
                r2 = p0 * fixed[b, 0, 2] + p1 * fixed[b, 1, 2] + p2 * fixed[b, 2, 2]
            along = r0 * a0 + r1 * a1 + r2 * a2
            rest = (1.0 - cosine) * along
            rotation[b, i, 0] = cosine * r0 + rest * a0 + sine * (r1 * a2 - r2 * a1)
            rotation[b, i, 1] = cosine * r1 + rest * a1 + sine * (r2 * a0 - r0 * a2)
            rotation[b, i, 2] = cosine * r2 + rest * a2 + sine * (r0 * a1 - r1 * a0)
            place[b, i] = place[a, i] + (
                p0 * offset[b, 0] + p1 * offset[b, 1] + p2 * offset[b, 2]
            )
            if not turns[b]:
                place[b, i] += angle * along


@kernel(borrows=True)
def tree_columns(tree, state):
    """Columns of the Jacobian, after :func:`tree_poses`; arguments as there."""
    table = TreeTable(*tree)
    parent, turns, axis = table.parent, table.turns, table.axis
    velocity, in_world = table.velocity, table.in_world
    rotation, place, jacobian = state[:3]
    for b in range(parent.shape[0]):
        j = velocity[b]
        p0, p1, p2 = place[b, 0], place[b, 1], place[b, 2]
        if parent[b] < 0:
            for k in range(3):
                a0, a1, a2 = rotation[b, 0, k], rotation[b, 1, k], rotation[b, 2, k]
                i = j + 3 + k
                jacobian[3, i], jacobian[4, i], jacobian[5, i] = a0, a1, a2
                jacobian[0, i] = p1 * a2 - p2 * a1
                jacobian[1, i] = p2 * a0 - p0 * a2
                jacobian[2, i] = p0 * a1 - p1 * a0
                if in_world[b]:
                    a0, a1, a2 = 1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2)
                i = j + k
                jacobian[0, i], jacobian[1, i], jacobian[2, i] = a0, a1, a2
            continue
        x, y, z = axis[b, 0], axis[b, 1], axis[b, 2]
        r = rotation[b]
        # The joint's axis is the same before and after its turn.
        a0 = r[0, 0] * x + r[0, 1] * y + r[0, 2] * z
        a1 = r[1, 0] * x + r[1, 1] * y + r[1, 2] * z
        a2 = r[2, 0] * x + r[2, 1] * y + r[2, 2] * z
        if turns[b]:
            jacobian[0, j] = p1 * a2 - p2 * a1
            jacobian[1, j] = p2 * a0 - p0 * a2
            jacobian[2, j] = p0 * a1 - p1 * a0
            jacobian[3, j], jacobian[4, j], jacobian[5, j] = a0, a1, a2
        else:
            jacobian[0, j], jacobian[1, j], jacobian[2, j] = a0, a1, a2


@kernel(borrows=True)
def tree_inertias(tree, state):
    """Inertias of all links in the world, after :func:`tree_poses`."""
    table = TreeTable(*tree)
    mass, centre, central = table.mass, table.centre, table.inertia
    rotation, place, _, inertia, _ = state
    half = small_matrix(3, 3)
    for b in range(mass.shape[0]):
        m, r, own = mass[b], rotation[b], central[b]
        c0 = place[b, 0] + r[0, 0] * centre[b, 0]
        c0 += r[0, 1] * centre[b, 1] + r[0, 2] * centre[b, 2]
        c1 = place[b, 1] + r[1, 0] * centre[b, 0]
        c1 += r[1, 1] * centre[b, 1] + r[1, 2] * centre[b, 2]
        c2 = place[b, 2] + r[2, 0] * centre[b, 0]
        c2 += r[2, 1] * centre[b, 1] + r[2, 2] * centre[b, 2]
        for i in range(3):
            for j in range(3):
                half[i, j] = (
                    r[i, 0] * own[0, j] + r[i, 1] * own[1, j] + r[i, 2] * own[2, j]
                )
        inertia[b, 0] = m
        inertia[b, 1], inertia[b, 2], inertia[b, 3] = m * c0, m * c1, m * c2
        inertia[b, 4] = m * (c1 * c1 + c2 * c2) + _turned(half, r, 0, 0)
        inertia[b, 5] = m * (c0 * c0 + c2 * c2) + _turned(half, r, 1, 1)
        inertia[b, 6] = m * (c0 * c0 + c1 * c1) + _turned(half, r, 2, 2)
        inertia[b, 7] = -m * c0 * c1 + _turned(half, r, 0, 1)
        inertia[b, 8] = -m * c1 * c2 + _turned(half, r, 1, 2)
        inertia[b, 9] = -m * c0 * c2 + _turned(half, r, 0, 2)


@kernel(borrows=True)
def _turned(half, r, i, j):
    return half[i, 0] * r[j, 0] + half[i, 1] * r[j, 1] + half[i, 2] * r[j, 2]


@kernel(borrows=True)
def _momentum(inertia, linear, angular):
    """Linear and angular momentum of a motion (also the force of an acceleration)."""
    v0, v1, v2 = linear
    w0, w1, w2 = angular
    m, c0, c1, c2 = inertia[0], inertia[1], inertia[2], inertia[3]
    xx, yy, zz, xy, yz, xz = (
        inertia[4],
        inertia[5],
        inertia[6],
        inertia[7],
        inertia[8],
        inertia[9],
    )
    return (
        m * v0 + w1 * c2 - w2 * c1,
        m * v1 + w2 * c0 - w0 * c2,
        m * v2 + w0 * c1 - w1 * c0,
        xx * w0 + xy * w1 + xz * w2 + c1 * v2 - c2 * v1,
        xy * w0 + yy * w1 + yz * w2 + c2 * v0 - c0 * v2,
        xz * w0 + yz * w1 + zz * w2 + c0 * v1 - c1 * v0,
    )


@kernel(borrows=True)
def tree_twists(tree, v, state):
    """Twists of all links, after :func:`tree_columns`."""
    parent, velocity = TreeTable(*tree).parent, TreeTable(*tree).velocity
    _, _, jacobian, _, twist = state
    for b in range(parent.shape[0]):
        j = velocity[b]
        if parent[b] < 0:
            for i in range(6):
                twist[b, i] = 0.0
                for k in range(j, j + 6):
                    twist[b, i] += jacobian[i, k] * v[k]
            continue
        for i in range(6):
            twist[b, i] = twist[parent[b], i] + jacobian[i, j] * v[j]


@kernel
def tree_energies(tree, q, v, state, energies):
    """Kinetic and potential energy of each root's links (roots, 2).

    After inertias and twists.
    """
    tree, q, v, state, energies = lent((tree, q, v, state, energies))
    table = TreeTable(*tree)
    gravity, armature, rotors = table.gravity, table.armature, table.rotors
    root, link = table.root, table.link
    _, _, _, inertia, twist = state
    energies[:] = 0.0
    for b in range(inertia.shape[0]):
        t, own = twist[b], energies[root[b]]
        l0, l1, l2, k0, k1, k2 = _momentum(
            inertia[b], (t[0], t[1], t[2]), (t[3], t[4], t[5])
        )
        double = t[0] * l0 + t[1] * l1 + t[2] * l2
        own[0] += 0.5 * (double + t[3] * k0 + t[4] * k1 + t[5] * k2)
        for i in range(3):
            own[1] -= gravity[i] * inertia[b, 1 + i]
    for j in range(v.shape[0]):
        energies[root[link[j]], 0] += 0.5 * armature[j] * v[j] ** 2
    if rotors.shape[0]:
        matrix = np.zeros((v.shape[0], v.shape[0]))
        add_rotor_inertia(q, rotors, matrix)
        energies[0, 0] += 0.5 * (v @ (matrix @ v))


@kernel(borrows=True)
def tree_momentum(tree, state, masses, momenta):
    """Mass (roots,) and linear momentum (roots, 3) of each root's links."""
    root = TreeTable(*tree).root
    inertia, twist = state[3], state[4]
    masses[:] = 0.0
    momenta[:] = 0.0
    for b in range(inertia.shape[0]):
        t = twist[b]
        momentum = _momentum(inertia[b], (t[0], t[1], t[2]), (t[3], t[4], t[5]))
        masses[root[b]] += inertia[b, 0]
        for i in range(3):
            momenta[root[b], i] += momentum[i]


@kernel
def tree_mass(tree, q, state, mass):
    """Mass matrix, after columns and inertias; false beyond the reach of a rotor."""
    tree, q, state, mass = lent((tree, q, state, mass))
    table = TreeTable(*tree)
    parent, armature, rotors = table.parent, table.armature, table.rotors
    velocity, link = table.velocity, table.link
    _, _, jacobian, inertia, _ = state
    composite = inertia.copy()
    n, nv = parent.shape[0], jacobian.shape[1]
    for b in range(n - 1, 0, -1):
        a = parent[b]
        if a >= 0:
            for i in range(10):
                composite[a, i] += composite[b, i]
    for j in range(nv - 1, -1, -1):
        b = link[j]
        l0, l1, l2, k0, k1, k2 = _momentum(
            composite[b],
            (jacobian[0, j], jacobian[1, j], jacobian[2, j]),
            (jacobian[3, j], jacobian[4, j], jacobian[5, j]),
        )
        for i in range(nv):
            mass[i, j] = 0.0
        i, a, first = j, b, velocity[b]
        while True:
            mass[i, j] = (
                jacobian[0, i] * l0
                + jacobian[1, i] * l1
                + jacobian[2, i] * l2
                + jacobian[3, i] * k0
                + jacobian[4, i] * k1
                + jacobian[5, i] * k2
            )
            if parent[a] >= 0:
                a = parent[a]
                first = velocity[a]
                i = first + 5 if parent[a] < 0 else first
            elif i > first:
                i -= 1
            else:
                break
    for j in range(nv):
        for i in range(j):
            mass[j, i] = mass[i, j]
        mass[j, j] += armature[j]
    return rotors.shape[0] == 0 or add_rotor_inertia(q, rotors, mass)


@kernel
def tree_drifts(tree, v, state):
    """Accelerations of all links in the world at zero joint accelerations (n, 6).

    Against gravity's, as the base falls: contacts add it again.
    """
    tree, v, state = lent((tree, v, state))
    table = TreeTable(*tree)
    parent, gravity, velocity = table.parent, table.gravity, table.velocity
    place, jacobian, twist = state[1], state[2], state[4]
    drift = np.zeros((parent.shape[0], 6))
    for b in range(parent.shape[0]):
        j, a = velocity[b], parent[b]
        if a < 0:
            for i in range(3):
                drift[b, i] = -gravity[i]
            if table.in_world[b]:
                # the velocity of its origin, across its spin
                t, o = twist[b], place[b]
                c0 = t[0] + t[4] * o[2] - t[5] * o[1]
                c1 = t[1] + t[5] * o[0] - t[3] * o[2]
                c2 = t[2] + t[3] * o[1] - t[4] * o[0]
                drift[b, 0] += c1 * t[5] - c2 * t[4]
                drift[b, 1] += c2 * t[3] - c0 * t[5]
                drift[b, 2] += c0 * t[4] - c1 * t[3]
            continue
        u, p, d = v[j], twist[a], drift[b]
        s0, s1, s2 = u * jacobian[0, j], u * jacobian[1, j], u * jacobian[2, j]
        r0, r1, r2 = u * jacobian[3, j], u * jacobian[4, j], u * jacobian[5, j]
        for i in range(6):
            d[i] = drift[a, i]
        d[0] += p[4] * s2 - p[5] * s1 + p[1] * r2 - p[2] * r1
        d[1] += p[5] * s0 - p[3] * s2 + p[2] * r0 - p[0] * r2
        d[2] += p[3] * s1 - p[4] * s0 + p[0] * r1 - p[1] * r0
        d[3] += p[4] * r2 - p[5] * r1
        d[4] += p[5] * r0 - p[3] * r2
        d[5] += p[3] * r1 - p[4] * r0
    return drift


@kernel
def tree_bias(tree, q, v, state, bias):
    """Nonlinear effects and gravity, after twists and inertias; false as before."""
    tree, q, v, state, bias = lent((tree, q, v, state, bias))
    table = TreeTable(*tree)
    parent, rotors, velocity = table.parent, table.rotors, table.velocity
    _, _, jacobian, inertia, twist = state
    n = parent.shape[0]
    drift, force = tree_drifts(tree, v, state), np.empty((n, 6))
    for b in range(n):
        t, a = twist[b], drift[b]
        f0, f1, f2, g0, g1, g2 = _momentum(
            inertia[b], (a[0], a[1], a[2]), (a[3], a[4], a[5])
        )
        l0, l1, l2, k0, k1, k2 = _momentum(
            inertia[b], (t[0], t[1], t[2]), (t[3], t[4], t[5])
        )
        force[b, 0] = f0 + t[4] * l2 - t[5] * l1
        force[b, 1] = f1 + t[5] * l0 - t[3] * l2
        force[b, 2] = f2 + t[3] * l1 - t[4] * l0
        force[b, 3] = g0 + t[4] * k2 - t[5] * k1 + t[1] * l2 - t[2] * l1
        force[b, 4] = g1 + t[5] * k0 - t[3] * k2 + t[2] * l0 - t[0] * l2
        force[b, 5] = g2 + t[3] * k1 - t[4] * k0 + t[0] * l1 - t[1] * l0
    for b in range(n - 1, -1, -1):
        for j in range(velocity[b], velocity[b] + (1 if parent[b] >= 0 else 6)):
            bias[j] = 0.0
            for i in range(6):
                bias[j] += jacobian[i, j] * force[b, i]
        if parent[b] >= 0:
            for i in range(6):
                force[parent[b], i] += force[b, i]
    return rotors.shape[0] == 0 or add_rotor_effects(q, v, rotors, bias)


@kernel
def tree_equations(tree, q, v):
    """Mass matrix, bias and state of a tree, and whether its rotors reach."""
    nv = v.shape[0]
    state = tree_state(tree, nv)
    mass, bias = np.empty((nv, nv)).T, np.empty(nv)
    tree_poses(tree, q, state)
    tree_columns(tree, state)
    tree_inertias(tree, state)
    tree_twists(tree, v, state)
    reach = tree_mass(tree, q, state, mass)
    reach = tree_bias(tree, q, v, state, bias) and reach
    return mass, bias, state, reach


@kernel(borrows=True)
def write_motions(links, state, vectors, motions, order):
    """Write world motions (n, 6) of links, in their own frames (m, 2, 6)."""
    rotation, place = state[:2]
    for k in range(links.shape[0]):
        b = links[k]
        r, p, t = rotation[b], place[b], vectors[b]
        v0 = t[0] + t[4] * p[2] - t[5] * p[1]
        v1 = t[1] + t[5] * p[0] - t[3] * p[2]
        v2 = t[2] + t[3] * p[1] - t[4] * p[0]
        for i in range(3):
            motions[k, order, i] = r[0, i] * v0 + r[1, i] * v1 + r[2, i] * v2
            motions[k, order, 3 + i] = r[0, i] * t[3] + r[1, i] * t[4] + r[2, i] * t[5]


@kernel(borrows=True)
def write_poses(links, state, poses):
    """Write the poses of links (m, 3, 4), after :func:`tree_poses`."""
    rotation, place = state[:2]
    for k in range(links.shape[0]):
        b = links[k]
        for i in range(3):
            poses[k, i, 3] = place[b, i]
            for j in range(3):
                poses[k, i, j] = rotation[b, i, j]


_ROTORS = 16
"""Columns of a table of rotors."""


def tree_table(
    model: pin.Model,
    armature: np.ndarray,
    rotors: np.ndarray | None,
    locked: np.ndarray,
) -> TreeTable | None:
    """The table of a model; None where it has no place for some joints."""
    count = model.njoints - 1
    if count < 1:
        return None
    axis, turns = np.zeros((count, 3)), np.ones(count, dtype=np.bool_)
    parent = np.array([model.parents[k + 1] - 1 for k in range(count)])
    in_world = np.zeros(count, dtype=np.bool_)
    for k in range(count):
        joint = model.joints[k + 1]
        if parent[k] < 0:
            if (joint.nq, joint.nv) != (7, 6):
                return None
            # A free body (scene_tree) has its velocity in the world's frame.
            in_world[k] = joint.shortname() != "JointModelFreeFlyer"
            continue
        if (joint.nq, joint.nv) != (1, 1):
            return None
        data = joint.createData()
        joint.calc(data, np.zeros(model.nq))
        linear, angular = np.asarray(data.S).reshape(6)[:3], data.S.reshape(6)[3:]
        turns[k] = bool(angular.any())
        if turns[k] and linear.any():
            return None
        axis[k] = angular if turns[k] else linear
    root = np.zeros(count, dtype=np.int64)
    for k in range(count):
        root[k] = root[parent[k]] if parent[k] >= 0 else (parent[:k] < 0).sum()
    inertias = [model.inertias[k + 1] for k in range(count)]
    places = [model.jointPlacements[k + 1] for k in range(count)]
    widths = [model.joints[k + 1].nv for k in range(count)]
    return TreeTable(
        parent=parent,
        turns=turns,
        rotation=np.array([place.rotation for place in places]),
        place=np.array([place.translation for place in places]),
        axis=axis,
        mass=np.array([inertia.mass for inertia in inertias]),
        centre=np.array([inertia.lever for inertia in inertias]),
        inertia=np.array([inertia.inertia for inertia in inertias]),
        gravity=np.array(model.gravity.linear),
        armature=np.array(armature, dtype=float) + model.armature,
        rotors=np.zeros((0, _ROTORS)) if rotors is None else np.array(rotors),
        locked=np.array(locked, dtype=np.int64),
        straight=np.array([bool((p.rotation == np.eye(3)).all()) for p in places]),
        position=np.array([model.joints[k + 1].idx_q for k in range(count)]),
        velocity=np.array([model.joints[k + 1].idx_v for k in range(count)]),
        link=np.repeat(np.arange(count), widths),
        root=root,
        in_world=in_world,
    )


@kernel
def tree_configuration(tree, centre, x):
    """The configuration at coordinates x (nv,) around a centre of unit quaternions."""
    tree, centre, x = lent(tree), lent(centre), lent(x)
    table = TreeTable(*tree)
    parent, position, velocity = table.parent, table.position, table.velocity
    q = np.empty(centre.shape[0])
    for b in range(parent.shape[0]):
        o, j = position[b], velocity[b]
        if parent[b] < 0:
            place_free_base(centre[o : o + 7], x[j : j + 6], q[o : o + 7])
        else:
            q[o] = centre[o] + x[j]
    return q


@kernel
def tree_rates(tree, centre, x, v):
    """The rates of these coordinates at a velocity."""
    tree, centre, x, v = lent(tree), lent(centre), lent(x), lent(v)
    table = TreeTable(*tree)
    parent, position, velocity = table.parent, table.position, table.velocity
    rates = v.copy()
    for b in range(parent.shape[0]):
        o, j = position[b], velocity[b]
        if parent[b] < 0:
            own = rates[j : j + 6]
            turn_free_base(centre[o : o + 7], x[j : j + 6], v[j : j + 6], own)
            for k in range(3 if table.in_world[b] else 0):
                own[k] = v[j + k]
    return rates


@kernel
def tree_centre(tree, q):
    """A configuration with quaternions of unit length."""
    tree, q = lent((tree, q))
    table = TreeTable(*tree)
    centre = q.copy()
    for b in range(table.parent.shape[0]):
        if table.parent[b] < 0:
            normalise_quaternion(centre[table.position[b] : table.position[b] + 7])
    return centre
