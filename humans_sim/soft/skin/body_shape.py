# SPDX-License-Identifier: Apache-2.0
"""The shape of a human body: swept parts from a file, for a subject's own lengths.

A part is swept along a straight axis with sections of four radii. Parts blend where
their links are neighbours in the kinematic tree, so that a hand does not fuse with a
thigh. The file gives the sizes of one person; along the axes they follow the subject's
joints, across them the stature and the mass.

Also distances to a body of such parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from scipy.interpolate import PchipInterpolator

from humans_sim.core.kernels import kernel
from humans_sim.core.resources import resource
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.models import Model
from humans_sim.models.points import frame_index
from humans_sim.soft.errors import SoftError

OFFSET, FRONT, OUT, POWER = 0, 2, 4, 6
"""Columns of a table: centre (2), front and back, outer and inner radius, power."""
_APART = 0.06
"""Distance from a part beyond which it need not be exact [m]."""
_FAR = 8.0
"""Widths of a blend beyond which the weaker part is not felt."""


class Sweeps(NamedTuple):
    """Parts of a body as arrays.

    Attributes:
        frames: directions to the front, outwards and along, origin (n, 12) [m].
        spans: first and last station along the axis, how far the rounded ends go beyond
            them, how far a part goes from its axis or its ends (n, 5) [m].
        tables: sections at even stations (n, k, 7) [m].
        planes: normals and offsets of half-spaces that hold a part (n, 2, 4).
        bumps: part, centre, deviations along x, y, z, height (b, 8) [m].
        edges: pairs of parts that blend (e, 2).
        widths: of these blends (e,) [m].
    """

    frames: np.ndarray
    spans: np.ndarray
    tables: np.ndarray
    planes: np.ndarray
    bumps: np.ndarray
    edges: np.ndarray
    widths: np.ndarray


@kernel
def section_distance(a, b, c, radii, n):
    """About the distance to where the power sum of a / ra, b / rb, c / rc is one."""
    ra, rb, rc = radii
    a, b, c = abs(a) / ra, abs(b) / rb, abs(c) / rc
    largest = max(a, b, c)
    if largest < 1e-3:
        return -min(ra, rb)
    a, b, c = a / largest, b / largest, c / largest
    if n == 2.0:
        u, v, w = a, b, c
    else:
        u = a ** (n - 1.0)
        v = b ** (n - 1.0)
        w = c ** (n - 1.0)
    power = a * u + b * v + c * w
    level = largest * (np.sqrt(power) if n == 2.0 else power ** (1.0 / n))
    u, v, w = u / ra, v / rb, w / rc
    slope = np.sqrt(u * u + v * v + w * w) * (level / largest) / power
    return (level - 1.0) / slope


@kernel
def part_distances(sweeps, x, y, z, out):
    """About the distances from a point to all parts, negative inside (n,) [m].

    Far from a part it is that to its widest section, all along it.
    """
    frames, spans, tables = sweeps.frames, sweeps.spans, sweeps.tables
    planes, bumps = sweeps.planes, sweeps.bumps
    stations = tables.shape[1]
    for part in range(len(out)):
        u, v, w = x - frames[part, 9], y - frames[part, 10], z - frames[part, 11]
        c = frames[part, 6] * u + frames[part, 7] * v + frames[part, 8] * w
        first, last = spans[part, 0], spans[part, 1]
        s = min(max(c, first), last)
        c -= s
        a = frames[part, 0] * u + frames[part, 1] * v + frames[part, 2] * w
        b = frames[part, 3] * u + frames[part, 4] * v + frames[part, 5] * w
        beyond = max(abs(a), abs(b), abs(c)) - spans[part, 4]
        if beyond > _APART:
            out[part] = beyond
            continue
        place = (s - first) / (last - first) * (stations - 1)
        k = min(int(place), stations - 2)
        after = place - k
        own = 1.0 - after
        a -= own * tables[part, k, OFFSET] + after * tables[part, k + 1, OFFSET]
        b -= own * tables[part, k, OFFSET + 1] + after * tables[part, k + 1, OFFSET + 1]
        i = FRONT if a > 0 else FRONT + 1
        ra = own * tables[part, k, i] + after * tables[part, k + 1, i]
        i = OUT if b > 0 else OUT + 1
        rb = own * tables[part, k, i] + after * tables[part, k + 1, i]
        rc = spans[part, 2] if c < 0 else spans[part, 3]
        n = own * tables[part, k, POWER] + after * tables[part, k + 1, POWER]
        out[part] = section_distance(a, b, c, (ra, rb, rc), n)
        for i in range(planes.shape[1]):
            height = planes[part, i, 0] * x + planes[part, i, 1] * y
            height += planes[part, i, 2] * z - planes[part, i, 3]
            out[part] = max(out[part], height)
    for i in range(len(bumps)):
        square = ((x - bumps[i, 1]) / bumps[i, 4]) ** 2
        square += ((y - bumps[i, 2]) / bumps[i, 5]) ** 2
        square += ((z - bumps[i, 3]) / bumps[i, 6]) ** 2
        if square < 20.0:
            out[int(bumps[i, 0])] -= bumps[i, 7] * np.exp(-0.5 * square)


@kernel
def blended(sweeps, each):
    """The distance to all parts blended along the graph's edges [m].

    Along an edge the fields exp(-d / w) of two parts are added.
    """
    least = each.min()
    for e in range(len(sweeps.widths)):
        a, b = each[sweeps.edges[e, 0]], each[sweeps.edges[e, 1]]
        w = sweeps.widths[e]
        apart = abs(a - b) / w
        if min(a, b) - w < least and apart < _FAR:
            least = min(least, min(a, b) - w * np.log1p(np.exp(-apart)))
    return least


@kernel
def body_distances(sweeps, points):
    """About the distances from points (m, 3) to the body (m,) [m]."""
    each = np.empty(len(sweeps.frames))
    out = np.empty(len(points))
    for i in range(len(points)):
        part_distances(sweeps, points[i, 0], points[i, 1], points[i, 2], each)
        out[i] = blended(sweeps, each)
    return out


@kernel
def nearest_parts(sweeps, points):
    """The part that each point is deepest in, or nearest to (m,)."""
    each = np.empty(len(sweeps.frames))
    out = np.empty(len(points), dtype=np.int64)
    for i in range(len(points)):
        part_distances(sweeps, points[i, 0], points[i, 1], points[i, 2], each)
        out[i] = np.argmin(each)
    return out


_STATIONS = 97
"""Sections of a part, interpolated from those of the file."""
_ENDLESS = (0.0, 0.0, 0.0, 1e3)
"""A plane that cuts nothing off."""
_STOUTNESS = (0.85, 1.3)
"""Bounds of the girth beside that of the file's person of the same stature."""
_LEAN = ("head", "hand", "foot")
"""Links that do not grow with the mass."""
_KEYS = ("height", "mass", "pose", "colours", "parts")
_SIDES = (("l_", 1.0), ("r_", -1.0))


@dataclass(frozen=True)
class Part:
    """One part, of a subject, in the pose in which the skin is made.

    Attributes:
        name: with its side.
        links: that it covers.
        frame: link that it is given in.
        materials: ends along the axis [m] and what it is made of up to them.
        bones: places along the axis [m] and the joints' frames that carry it there.
        spots: centres, sizes [m] and materials of spots on it.
    """

    name: str
    links: tuple[str, ...]
    frame: str
    materials: tuple[tuple[float, str], ...]
    bones: tuple[tuple[float, str], ...]
    spots: tuple[tuple[np.ndarray, np.ndarray, str], ...] = ()


@dataclass(frozen=True)
class BodyShape:
    """The implicit surface of a subject in a pose: its parts, and their sizes.

    The colours are red, green, blue of the materials.
    """

    parts: tuple[Part, ...]
    sweeps: Sweeps
    pose: np.ndarray
    colours: dict[str, tuple[int, int, int]]

    def distance(self, points: np.ndarray) -> np.ndarray:
        """About the distance to the surface, negative inside (n,) [m]."""
        return np.asarray(body_distances(self.sweeps, points))

    def part_of(self, points: np.ndarray) -> np.ndarray:
        """Numbers of the parts that points belong to (n,)."""
        return np.asarray(nearest_parts(self.sweeps, points))

    def along(self, part: int, points: np.ndarray) -> np.ndarray:
        """Where points are along a part's axis (n,) [m]."""
        frame = self.sweeps.frames[part]
        return np.asarray((points - frame[9:]) @ frame[6:9])

    def materials(self, points: np.ndarray) -> np.ndarray:
        """Names of the materials at points (n,)."""
        names = np.full(len(points), "", dtype="U16")
        parts = self.part_of(points)
        for k, part in enumerate(self.parts):
            own = np.flatnonzero(parts == k)
            if not len(own):
                continue
            ends = np.array([end for end, _ in part.materials])
            words = np.array([name for _, name in part.materials])
            at = np.searchsorted(ends, self.along(k, points[own]))
            names[own] = words[np.minimum(at, len(words) - 1)]
            for centre, sizes, name in part.spots:
                offset = (points[own] - centre) / sizes
                names[own[np.sum(offset**2, axis=1) < 1.0]] = name
        return names


def skin_file(name: str = "human36") -> Path:
    """The file of a skin."""
    return resource("config", "skins", f"{name}.yaml")


def making_pose(model: Model, name: str = "human36") -> np.ndarray:
    """The configuration in which a skin is made."""
    return _pose(model, read_yaml(skin_file(name)).fields(_KEYS)["pose"])


def body_shape(model: Model, name: str = "human36") -> BodyShape:
    """The body of a subject, by a file of ``config/skins`` with its links and tags."""
    fields = read_yaml(skin_file(name)).fields(_KEYS)
    scale = model.height / fields["height"].positive()
    stout = model.mass / fields["mass"].positive() / scale**3
    girth = scale * float(np.clip(np.sqrt(stout), *_STOUTNESS))
    pose = _pose(model, fields["pose"])
    maker = _PartMaker(model, pose, scale, girth)
    for value in fields["parts"]:
        sided = "sides" in value.mapping()
        for prefix, sign in _SIDES if sided else (("", 1.0),):
            maker.add(value, prefix, sign)
    colours = {
        key: tuple(int(round(255 * c)) for c in value.vector(3))
        for key, value in fields["colours"].mapping().items()
    }
    return BodyShape(tuple(maker.parts), maker.sweeps(), pose, colours)  # type: ignore[arg-type]


def _pose(model: Model, angles: YamlValue) -> np.ndarray:
    """The configuration with some joints turned on both sides, by degrees."""
    q = model.neutral()
    for name, value in angles.mapping().items():
        for k, joint in enumerate(model.joint_names):
            if joint in (name, f"l_{name}", f"r_{name}"):
                q[7 + k] = np.radians(value.number())
    return q


class _PartMaker:
    """Makes parts of a file for one subject."""

    def __init__(
        self, model: Model, pose: np.ndarray, scale: float, girth: float
    ) -> None:
        self._model, self._scale, self._stout = model, scale, girth
        self._girth = girth
        data = model.data()
        pin.framesForwardKinematics(model.pin, data, pose)
        self._poses: dict[str, pin.SE3] = {
            frame.name: data.oMf[k].copy() for k, frame in enumerate(model.pin.frames)
        }
        tags = model.tags(pose)
        self._places = dict(zip(model.tag_names, tags, strict=False))
        self.parts: list[Part] = []
        self._rows: dict[str, list[np.ndarray]] = {}
        self._bumps: list[list[float]] = []
        self._edges: list[tuple[int, int]] = []
        self._widths: list[float] = []

    def add(self, value: YamlValue, prefix: str, sign: float) -> None:
        """Add a part of one side."""
        need = ("name", "links", "frame", "axis", "stations", "materials", "bones")
        may = ("sides", "at", "front", "joints", "caps", "blend", "cuts", "bumps")
        fields = value.fields(need, (*may, "spots"))
        frame = self._own(fields["frame"].text(), prefix)
        lean = fields["frame"].text() in _LEAN
        self._girth = self._scale if lean else self._stout
        placed = _Placed(self._pose_of(frame), sign, self._scale)
        origin = np.array(placed.pose.translation)
        if "at" in fields:
            origin = placed.point(fields["at"].vector(3))
        along = placed.direction(fields["axis"].vector(3))
        ahead = np.array([1.0, 0.0, 0.0])
        if "front" in fields:
            ahead = fields["front"].vector(3)
        front = placed.direction(ahead)
        front -= (front @ along) * along
        front /= np.linalg.norm(front)
        out = sign * np.cross(along, front)
        if out @ placed.direction(np.array([0.0, 1.0, 0.0])) < 0:
            out = -out
        where = self._stations(fields.get("joints"), prefix, origin, along)
        rows = np.array([row.vector(8) for row in fields["stations"]])
        girths = rows[:, 1:7] * self._girth
        places = where(rows[:, 0])
        even = np.linspace(places[0], places[-1], _STATIONS)
        table = PchipInterpolator(places, np.column_stack([girths, rows[:, 7]]))(even)
        caps = fields["caps"].vector(2) if "caps" in fields else rows[[0, -1], 3]
        k = len(self.parts)
        cuts = [placed.plane(item.vector(4)) for item in fields.get("cuts", ())]
        cuts = (cuts + 2 * [np.array(_ENDLESS)])[:2]
        caps = self._girth * caps
        # How far the part goes from its axis, or beyond its ends [m].
        across = np.abs(table[:, :2]) + np.maximum(table[:, [2, 4]], table[:, [3, 5]])
        widest = float(max(np.hypot(*across.T).max(), caps.max()))
        for key, row in (
            ("frames", np.concatenate([front, out, along, origin])),
            ("spans", np.array([*places[[0, -1]], *caps, widest])),
            ("tables", table),
            ("planes", np.array(cuts)),
        ):
            self._rows.setdefault(key, []).append(np.asarray(row, dtype=float))
        links = tuple(self._link(item.text(), prefix) for item in fields["links"])
        self._blend(k, links, prefix, fields.get("blend"))
        both = not prefix
        for item in fields.get("bumps", ()):
            bump = item.vector(7)
            for side in (1.0, -1.0) if both and bump[1] else (1.0,):
                centre = placed.point(bump[:3] * np.array([1.0, side, 1.0]))
                sizes = bump[3:] * self._girth
                self._bumps.append([k, *centre, *sizes])
        spots = tuple(self._spots(fields.get("spots", ()), placed, both))
        marks = self._marks(fields["bones"], where)
        self.parts.append(
            Part(
                f"{prefix}{fields['name'].text()}",
                links,
                frame,
                tuple(self._marks(fields["materials"], where)),
                tuple((s, self._own(name, prefix)) for s, name in marks),
                spots,
            )
        )

    def sweeps(self) -> Sweeps:
        """All parts as arrays."""
        arrays = {key: np.ascontiguousarray(rows) for key, rows in self._rows.items()}
        return Sweeps(
            **arrays,
            bumps=np.array(self._bumps, dtype=float).reshape(-1, 8),
            edges=np.array(self._edges, dtype=np.int64).reshape(-1, 2),
            widths=np.array(self._widths, dtype=float),
        )

    def _pose_of(self, name: str) -> pin.SE3:
        if name not in self._poses:
            raise SoftError(f"{self._model.name} has no link '{name}' to put skin on")
        return self._poses[name]

    def _own(self, name: str, prefix: str) -> str:
        """A name of the side it has there, else as it is."""
        sided = f"{prefix}{name}"
        return sided if sided in self._poses or sided in self._places else name

    def _link(self, name: str, prefix: str) -> str:
        own = self._own(name, prefix)
        self._pose_of(own)
        return own

    def _stations(
        self,
        joints: YamlValue | None,
        prefix: str,
        origin: np.ndarray,
        along: np.ndarray,
    ) -> _Stations:
        """From the file's places along an axis to the subject's."""
        if joints is None:
            return _Stations([0.0], [0.0], self._scale)
        given, own = [], []
        for place, name in self._pairs(joints):
            point = self._places.get(self._own(name, prefix))
            if point is None:
                point = self._pose_of(self._own(name, prefix)).translation
            given.append(place)
            own.append(float((point - origin) @ along))
        return _Stations(given, own, self._scale)

    @staticmethod
    def _pairs(value: YamlValue) -> list[tuple[float, str]]:
        pairs = []
        for item in value:
            place, name = item.items()
            pairs.append((place.number(), name.text()))
        return pairs

    def _marks(self, value: YamlValue, where: _Stations) -> list[tuple[float, str]]:
        pairs = self._pairs(value)
        return [(float(where(np.array([s]))[0]), name) for s, name in pairs]

    def _spots(
        self, items: object, placed: _Placed, both: bool
    ) -> list[tuple[np.ndarray, np.ndarray, str]]:
        spots = []
        for item in items:  # type: ignore[attr-defined]
            fields = item.fields(("at", "sizes", "material"))
            at = fields["at"].vector(3)
            sizes = fields["sizes"].vector(3) * self._girth
            for side in (1.0, -1.0) if both and at[1] else (1.0,):
                centre = placed.point(at * np.array([1.0, side, 1.0]))
                spots.append((centre, sizes, fields["material"].text()))
        return spots

    def _blend(
        self, k: int, links: tuple[str, ...], prefix: str, blend: YamlValue | None
    ) -> None:
        """Blend a part with others on the same link or on a neighbour in the tree."""
        near = {*links, *(_parent_link(self._model, link) for link in links)}
        for name, width in blend.mapping().items() if blend is not None else ():
            for other, part in enumerate(self.parts):
                if part.name not in (name, f"{prefix}{name}"):
                    continue
                if not near & set(part.links):
                    raise width.error(f"'{name}' is no neighbour in the tree")
                self._edges.append((other, k))
                self._widths.append(width.positive() * self._girth)


@dataclass(frozen=True)
class _Placed:
    """The frame of a link; y of the file is outwards."""

    pose: pin.SE3
    sign: float
    scale: float

    def _own(self, vector: np.ndarray) -> np.ndarray:
        return vector * np.array([1.0, self.sign, 1.0])

    def point(self, place: np.ndarray) -> np.ndarray:
        return np.asarray(self.pose.act(self.scale * self._own(place)))

    def direction(self, vector: np.ndarray) -> np.ndarray:
        turned = self.pose.rotation @ self._own(np.asarray(vector, dtype=float))
        return np.asarray(turned / np.linalg.norm(turned))

    def plane(self, values: np.ndarray) -> np.ndarray:
        """Of n . p < c in the link's frame, the same in the world's."""
        length = float(np.linalg.norm(values[:3]))
        normal = self.direction(values[:3])
        offset = self.scale * values[3] / length + normal @ self.pose.translation
        return np.append(normal, offset)


@dataclass(frozen=True)
class _Stations:
    """A piecewise linear map along an axis, with one slope beyond its ends."""

    given: list[float]
    own: list[float]
    scale: float

    def __call__(self, places: np.ndarray) -> np.ndarray:
        inside = np.interp(places, self.given, self.own)
        below = np.minimum(places - self.given[0], 0.0)
        above = np.maximum(places - self.given[-1], 0.0)
        return np.asarray(inside + self.scale * (below + above))


def _parent_link(model: Model, link: str) -> str:
    """The nearest body above a link that is no elementary rotation."""
    frame = model.pin.frames[frame_index(model.pin, link)]
    joint = int(frame.parentJoint)
    bodies = {
        int(f.parentJoint): f.name
        for f in model.pin.frames
        if f.type == pin.FrameType.BODY and f.name in model.segment_names
    }
    while joint > 1:
        joint = int(model.pin.parents[joint])
        if joint in bodies:
            return bodies[joint]
    return ""
