# SPDX-License-Identifier: Apache-2.0
"""A biped model: kinematics and dynamics on pinocchio, in ROS axes.

*Poses and motions* of many joints are read from pinocchio's data in one copy. The
vectors of a data object are equally spaced in memory: an array over all of them is a
view, and what some joints need is one indexed copy, whatever their number.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from humans_sim.core.arrays import real_array
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.models.description import QUATERNION_TOLERANCE, ModelParts, Tag
from humans_sim.models.points import PointSet, frame_index

if TYPE_CHECKING:
    from humans_sim.models.humans_view import FrameView, HumansView


class Model:
    """An immutable biped model.

    Configurations ``q`` are pinocchio's: base position [m], base quaternion (x, y, z,
    w), joint angles [rad]; velocities ``v``: base linear and angular velocity in the
    base frame, joint speeds. Buffers live in data objects: each thread has its own,
    and :meth:`data` gives more. ``notes`` are what the model leaves out of its file, or
    takes otherwise, such as joints that are locked.
    """

    def __init__(self, parts: ModelParts) -> None:
        """Use :func:`humans_sim.load_model`."""
        model = parts.pin_model
        self.parts = parts
        self.rotors = parts.rotors
        self.pin = model
        self.name = parts.name
        self.title = parts.title
        self.notes = parts.notes
        self.nq: int = model.nq
        self.nv: int = model.nv
        self._q_shape, self._v_shape = (model.nq,), (model.nv,)
        self.joint_names: tuple[str, ...] = tuple(model.names[2:])
        self.tag_names = tuple(tag.name for tag in parts.tags)
        self.contact_names = parts.contacts
        self.soles = parts.soles
        self.mass = float(pin.computeTotalMass(model))
        self.lower_limits = _frozen(model.lowerPositionLimit[7:])
        self.upper_limits = _frozen(model.upperPositionLimit[7:])
        self.effort_limits = _frozen(model.upperEffortLimit[6:])
        self.velocity_limits = _frozen(model.upperVelocityLimit[6:])
        self.joint_damping = _frozen(model.damping[6:])
        self.joint_friction = _frozen(model.upperDryFrictionLimit[6:])
        self._tags = self._points(parts.tags)
        self.contact_points = self.tag_points(parts.contacts)
        self._buffers = _Buffers(model)

    def _points(self, tags: tuple[Tag, ...]) -> PointSet:
        joints, local = [], []
        for tag in tags:
            frame = self.pin.frames[frame_index(self.pin, tag.link)]
            joints.append(int(frame.parentJoint))
            local.append(frame.placement.act(tag.position))
        return PointSet(self.pin, joints, np.array(local))

    def tag_points(self, names: Sequence[str]) -> PointSet:
        """Some of the tags as points fixed on their links."""
        by_name = {tag.name: tag for tag in self.parts.tags}
        unknown = [name for name in names if name not in by_name]
        if unknown:
            raise ParameterError(f"{self.name} has no tag called '{unknown[0]}'")
        return self._points(tuple(by_name[name] for name in names))

    def __repr__(self) -> str:
        return f"<Model {self.name}: {self.nv} degrees of freedom, {self.mass:g} kg>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """Itself: it is immutable, and copies of what holds it share it."""
        return self

    def data(self) -> pin.Data:
        """A new data object, for use in one thread."""
        return self.pin.createData()

    @property
    def buffers(self) -> pin.Data:
        """This thread's data object, which every method of the model uses."""
        return self._buffers.data

    def check_configuration(self, q: np.ndarray) -> np.ndarray:
        """The configuration as an array, or a :class:`ConfigurationError`."""
        q = self._sized(q, self._q_shape, "q")
        if not _is_sound(q):
            if not np.isfinite(q).all():
                raise ConfigurationError(f"q{_where(q)} is not a finite number")
            raise ConfigurationError(
                "the base quaternion q[3:7] is not of unit length: normalise it"
            )
        return q

    def check_velocity(self, v: np.ndarray) -> np.ndarray:
        """The velocity as an array, or a :class:`ConfigurationError`."""
        return self._rates(v, "v")

    def _rates(self, values: np.ndarray, name: str) -> np.ndarray:
        """A velocity or an acceleration."""
        rates = self._sized(values, self._v_shape, name)
        if not math.isfinite(sum(rates.tolist())):
            raise ConfigurationError(f"{name}{_where(rates)} is not a finite number")
        return rates

    def _sized(self, vector: np.ndarray, shape: tuple[int], name: str) -> np.ndarray:
        vector = real_array(vector, name, ConfigurationError)
        if vector.shape != shape:
            parts = "base position, base quaternion, joints"
            if shape == self._v_shape:
                parts = "base linear, base angular, joints"
            raise ConfigurationError(
                f"{name} of {self.name} has {shape[0]} entries ({parts}), "
                f"not shape {vector.shape}"
            )
        return vector

    def neutral(self) -> np.ndarray:
        """Zero position: all joints at zero, the soles on the ground."""
        q = pin.neutral(self.pin)
        q[2] = self.parts.humans.base_height
        return q

    def standing(self, joints: np.ndarray) -> np.ndarray:
        """Upright configuration with these joint angles, lowest contact on the ground.

        Args:
            joints: angles in the order of :attr:`joint_names` [rad].
        """
        q = self.neutral()
        q[7:] = joints
        if self.contact_names:
            q[2] -= self.contact(q)[:, 2].min()
        return q

    def random_configuration(self, rng: np.random.Generator) -> np.ndarray:
        """Joints within their limits, any base attitude, base within 1 m.

        Joints without limits are within half a turn of zero.
        """
        q = self.neutral()
        q[:3] = rng.uniform(-1.0, 1.0, 3)
        quaternion = rng.normal(size=4)
        q[3:7] = quaternion / np.linalg.norm(quaternion)
        low, high = self.lower_limits.copy(), self.upper_limits.copy()
        low[np.isinf(low)], high[np.isinf(high)] = -np.pi, np.pi
        q[7:] = rng.uniform(low, high)
        return q

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The configuration reached from q by the velocity v in unit time."""
        return pin.integrate(
            self.pin, self.check_configuration(q), self.check_velocity(v)
        )

    def tags(self, q: np.ndarray) -> np.ndarray:
        """Tags in the world (ntags + 1, 3) [m]; the last row is the centre of mass."""
        data = self._buffers.data
        com = pin.centerOfMass(self.pin, data, self.check_configuration(q))
        return np.vstack([self._tags.positions(data), com])

    def tags_jacobian(self, q: np.ndarray) -> np.ndarray:
        """Jacobians of the tags in the world (ntags, 3, nv)."""
        data = self._buffers.data
        pin.computeJointJacobians(self.pin, data, self.check_configuration(q))
        return self._tags.jacobians(data)

    def com(self, q: np.ndarray) -> np.ndarray:
        """Centre of mass of the whole body in the world (3,) [m]."""
        q = self.check_configuration(q)
        return np.array(pin.centerOfMass(self.pin, self._buffers.data, q))

    def segment_coms(self, q: np.ndarray) -> np.ndarray:
        """Centres of mass of the segments, then of the body (nsegments + 1, 3) [m].

        Segments are in the order of the HuMAnS numbering (:attr:`segment_names`). A
        segment without mass is given by its frame's origin.
        """
        data = self._buffers.data
        com = pin.centerOfMass(self.pin, data, self.check_configuration(q))
        rows = []
        for name in self.segment_names:
            frame = self.pin.frames[frame_index(self.pin, name)]
            inertia = self.pin.inertias[frame.parentJoint]
            local = inertia.lever if inertia.mass > 0 else frame.placement.translation
            rows.append(data.oMi[frame.parentJoint].act(local))
        return np.array([*rows, com])

    @property
    def segment_names(self) -> tuple[str, ...]:
        """Links in the order of the HuMAnS segment numbers."""
        return self.parts.humans.segments

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """Inertia matrix M(q) (nv, nv), drive rotors included."""
        # Pinocchio first, checks after: what it cannot take is said in full below.
        q = real_array(q, "q", ConfigurationError)
        try:
            matrix = pin.crba(self.pin, self._buffers.data, q)
            if self.rotors is None:
                if _is_sound(q):
                    return matrix
            elif self.rotors.add_inertia(q, self.rotors.table, matrix):
                return matrix
        except (AttributeError, TypeError, ValueError):
            pass
        q = self.check_configuration(q)
        matrix = pin.crba(self.pin, self._buffers.data, q)
        if self.rotors is not None:
            self.check_reach(self.rotors.add_inertia(q, self.rotors.table, matrix))
        return matrix

    def nl_effects(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        r"""Nonlinear effects and gravity :math:`N(q, v) v + G(q)` (nv,)."""
        q = real_array(q, "q", ConfigurationError)
        v = real_array(v, "v", ConfigurationError)
        try:
            vector = pin.nonLinearEffects(self.pin, self._buffers.data, q, v)
            if self.rotors is None:
                if _is_sound(q) and math.isfinite(sum(v.tolist())):
                    return vector
            elif self.rotors.add_effects(q, v, self.rotors.table, vector):
                return vector
        except (AttributeError, TypeError, ValueError):
            pass
        q, v = self.check_configuration(q), self.check_velocity(v)
        vector = pin.nonLinearEffects(self.pin, self._buffers.data, q, v)
        if self.rotors is not None:
            self.check_reach(self.rotors.add_effects(q, v, self.rotors.table, vector))
        return vector

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Generalised force of a motion without contact: M a + N v + G (nv,)."""
        q, v = self.check_configuration(q), self.check_velocity(v)
        a = self._rates(a, "a")
        force = pin.rnea(self.pin, self._buffers.data, q, v, a)
        rotors = self.rotors
        if rotors is not None:
            self.check_reach(rotors.add_effects(q, v, rotors.table, force))
            if np.count_nonzero(a[6:]):
                own = np.zeros((self.nv, self.nv))
                rotors.add_inertia(q, rotors.table, own)
                force += own @ a
        return force

    def check_reach(self, within: bool) -> None:
        """Refuse a posture beyond the reach of the drives."""
        if not within:
            raise ConfigurationError(
                f"a joint of {self.name} is beyond the reach of its screw drive; stay "
                "within the joint limits or load the model with rotors=False"
            )

    def contact(self, q: np.ndarray) -> np.ndarray:
        """Contact points in the world (ncontacts, 3) [m]."""
        data = self._buffers.data
        pin.forwardKinematics(self.pin, data, self.check_configuration(q))
        return self.contact_points.positions(data)

    def contact_jacobian(self, q: np.ndarray) -> np.ndarray:
        """Jacobians of the contact points in the world (ncontacts, 3, nv)."""
        data = self._buffers.data
        pin.computeJointJacobians(self.pin, data, self.check_configuration(q))
        return self.contact_points.jacobians(data)

    def contact_hessian(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray | None = None
    ) -> np.ndarray:
        """Accelerations of the contact points without joint acceleration.

        The terms s(q, v) of the manual's (1.2) and (1.4), (ncontacts, 3) [m/s^2]. With
        ``a`` (nv,) given, the whole acceleration J a + s.
        """
        data = self._buffers.data
        q, v = self.check_configuration(q), self.check_velocity(v)
        a = np.zeros(self.nv) if a is None else self._rates(a, "a")
        pin.forwardKinematics(self.pin, data, q, v, a)
        return self.contact_points.accelerations(data)

    def frame_pose(self, q: np.ndarray, name: str) -> pin.SE3:
        """Pose of a link or a frame (``l_sole``, ``gaze``...) in the world."""
        if not self.pin.existFrame(name):
            raise ParameterError(f"{self.name} has no frame called '{name}'")
        data = self._buffers.data
        pin.forwardKinematics(self.pin, data, self.check_configuration(q))
        return pin.updateFramePlacement(
            self.pin, data, frame_index(self.pin, name)
        ).copy()

    def seen_from(self, link: str = "") -> FrameView:
        """Frames, tags and centre of mass from a link or the world, with Jacobians."""
        from humans_sim.models.humans_view import FrameView

        return FrameView(self, link)

    def base_footprint(self, q: np.ndarray) -> pin.SE3:
        """The robot's place on the floor (REP-120): below the soles, base heading.

        It moves with respect to every link, so it is no part of the URDF.
        """
        if not self.soles:
            raise ParameterError(f"{self.name} has no soles: name them in its YAML")
        q = self.check_configuration(q)
        soles = [self.frame_pose(q, sole.name).translation for sole in self.soles]
        position = np.mean(soles, axis=0)
        position[2] = min(sole[2] for sole in soles)
        forward = pin.Quaternion(*np.roll(q[3:7], 1)).matrix()[:, 0]
        heading = np.arctan2(forward[1], forward[0])
        return pin.SE3(pin.utils.rotate("z", float(heading)), position)

    def kinetic_energy(self, q: np.ndarray, v: np.ndarray) -> float:
        """Kinetic energy, rotors included [J]."""
        v = self.check_velocity(v)
        return float(0.5 * v @ self.inertia(q) @ v)

    def potential_energy(self, q: np.ndarray) -> float:
        """Energy of gravity, zero with the centre of mass on the ground plane [J]."""
        q = self.check_configuration(q)
        return float(pin.computePotentialEnergy(self.pin, self._buffers.data, q))

    @cached_property
    def humans(self) -> HumansView:
        """The same model in HuMAnS coordinates."""
        from humans_sim.models.humans_view import HumansView

        return HumansView(self, self.parts.humans)

    def urdf(self) -> str:
        """The model as URDF text."""
        return self.parts.urdf

    def save(self, path: Path | str) -> Path:
        """Write the URDF, and what a URDF cannot hold as YAML beside it."""
        from humans_sim.models.files.urdf_file import save_parts

        return save_parts(self.parts, Path(path))

    @property
    def height(self) -> float:
        """Stature of a human model [m] (the manual's GetModelSize)."""
        try:
            return self.parts.parameters["h"]
        except KeyError:
            raise ParameterError(f"{self.name} has no stature") from None

    @property
    def lengths(self) -> dict[str, float]:
        """Named lengths in the manual's order [m] (GetAnatomicalLengths)."""
        return dict(self.parts.lengths)

    @property
    def tag_positions(self) -> np.ndarray:
        """Tags in their segments' frames, HuMAnS axes [m] (GetTag2JointLengths)."""
        from humans_sim.models.points import to_humans

        return to_humans(np.array([tag.position for tag in self.parts.tags]))

    def with_height(self, height: float) -> Model:
        """The model at another stature: all lengths and tags follow (SetModelSize)."""
        return self._again(height=height, lengths={}, tags={})

    def with_mass(self, mass: float) -> Model:
        """The model with another body mass [kg] (SetMass)."""
        return self._again(mass=mass)

    def with_lengths(
        self, lengths: Mapping[str, float] | np.ndarray | None = None, **named: float
    ) -> Model:
        """The model with some lengths replaced, by name or all in order [m]."""
        from humans_sim.models.files.named_models import named_lengths

        given = named_lengths(self.parts.lengths, lengths, self.name)
        return self._again(lengths={**self.parts.given_lengths, **given, **named})

    def with_tag_positions(
        self, positions: Mapping[str, np.ndarray] | np.ndarray
    ) -> Model:
        """The model with tags moved on their segments, HuMAnS axes [m].

        Args:
            positions: by tag name, or all of them (ntags, 3) or flat in tag order
                (the manual's SetTag2JointLengths).
        """
        from humans_sim.models.files.named_models import named_tags

        given = named_tags(self.tag_names, positions, self.name)
        return self._again(tags={**self.parts.given_tags, **given})

    def _again(self, **changes: object) -> Model:
        from humans_sim.models.files.named_models import table_parts

        parts = self.parts
        if not parts.from_table:
            raise HumansError(f"{parts.name} comes from a URDF: edit the URDF instead")
        arguments: dict[str, object] = {
            "height": parts.parameters.get("h"),
            "mass": parts.parameters.get("m"),
            "lengths": parts.given_lengths,
            "tags": parts.given_tags,
            "rotors": parts.rotors is not None,
        }
        return Model(table_parts(parts.source, **{**arguments, **changes}))  # type: ignore[arg-type]


class _Buffers(threading.local):
    """Pinocchio's buffers, made anew in each thread that uses the model."""

    def __init__(self, model: pin.Model) -> None:
        self.data = model.createData()


def _frozen(values: np.ndarray) -> np.ndarray:
    copy = np.array(values, dtype=float)
    copy.setflags(write=False)
    return copy


def _where(vector: np.ndarray) -> str:
    bad = np.flatnonzero(~np.isfinite(vector))
    return f"[{bad[0]}] = {vector[bad[0]]}" if bad.size else " (its sum)"


def _is_sound(q: np.ndarray) -> bool:
    """Whether a configuration is finite and its base quaternion of unit length.

    In plain floats: on a few dozen numbers that is faster than numpy.
    """
    values = q.tolist()
    x, y, z, w = values[3:7]
    square = x * x + y * y + z * z + w * w
    return math.isfinite(sum(values)) and abs(square - 1.0) < QUATERNION_TOLERANCE


class JointMemory:
    """The memory of some joints in a data object, which must live as long as this."""

    def __init__(self, data: pin.Data, joints: Sequence[int]) -> None:
        self.data = data
        self._joints = np.array(joints, dtype=np.intp)
        count = len(data.oMi)
        self._rotations = _over([data.oMi[j].rotation for j in (0, 1)], count)
        self._places = _over([data.oMi[j].translation for j in (0, 1)], count)
        self._velocities = _over([data.v[j].vector for j in (0, 1)], count)
        self._accelerations = _over([data.a_gf[j].vector for j in (0, 1)], count)

    def read_poses(self, poses: np.ndarray) -> None:
        """Rotations and places in the world, into (m, 3, 4)."""
        poses[:, :, :3] = self._rotations[self._joints]
        poses[:, :, 3] = self._places[self._joints]

    def read_velocities(self, motions: np.ndarray) -> None:
        """Spatial velocities in the joints' frames, into (m, 0, 6) of (m, 2, 6)."""
        motions[:, 0] = self._velocities[self._joints]

    def read_accelerations(self, motions: np.ndarray) -> None:
        """Spatial accelerations against gravity's, into (m, 1, 6) of (m, 2, 6)."""
        motions[:, 1] = self._accelerations[self._joints]


def _over(first_two: list[np.ndarray], count: int) -> np.ndarray:
    """A view over all entries of a vector of arrays, by the first two of them."""
    first, second = (entry.__array_interface__["data"][0] for entry in first_two)
    entry = first_two[0]
    return np.lib.stride_tricks.as_strided(
        entry,
        shape=(count, *entry.shape),
        strides=(second - first, *entry.strides),
        writeable=False,
    )
