# SPDX-License-Identifier: Apache-2.0
"""Robots that are dropped on boxes, stairs and rubble: how do the runs end?

    python benchmarks/random_drops.py [--models M ...] [--methods M ...] [--seeds N]
        [--first N] [--seconds S] [--limit CPU]

By its seed each drop has a ground, limp joints or servos that hold them, a posture, an
orientation, velocities, friction, and a restitution of 0 to 0.5. What may come of it:

* clean: ``run.check()`` finds nothing, nor does the measurement below;
* finding: one of the two does;
* refused: an error of the library's own types;
* untyped: any other error;
* slow: no end after ``--limit`` seconds of CPU time for a second of the simulation.

Overlaps are measured here once more, by coal alone and on what is drawn, as it is: all
collision shapes of all links with each other (but for neighbours), with the floor and
with boxes; with rubble, the prisms below its triangles. So nothing of the library's
own distances, nor of its check, is trusted. Of a foot the drawn rim of its sole is no
solid (``docs/obstacles.md``): it may be inside up to the height of that layer.

Exits with 1 if less than 98 % are clean, if anything overlaps by more than 1e-5 m, or
at an untyped error.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import coal
import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.contact.geometry.link_pairs import usual_pairs
from humans_sim.models.collision_shapes import collision_shapes
from humans_sim.models.points import frame_index

MODELS = ("khr1", "bip", "human36")
METHODS = ("time_stepping", "event_driven")
GROUNDS = ("boxes", "stairs", "rubble")
PERIOD, LIMIT, CLEAN = 0.01, 1e-5, 0.98
SOLE = 0.01
"""Share of a sole's length that is the layer left to its plate."""
NONE, TRIES = -1e6, 50
"""Distances below are none that coal knows [m]; postures that are tried for a start."""


class Solid(NamedTuple):
    """Something convex, in the frame of a joint (0: the world).

    Attributes:
        turn: rotation of coal's shape in that frame.
        place: of coal's shape in that frame [m].
        centre: of a ball around it, in that frame [m].
        layer: how much of it is a sole's rim [m].
    """

    name: str
    joint: int
    shape: coal.CollisionGeometry
    turn: np.ndarray
    place: np.ndarray
    centre: np.ndarray
    reach: float
    layer: float = 0.0


class Outcome(NamedTuple):
    """What became of a drop.

    Attributes:
        kind: clean, finding, refused, untyped or slow.
        why: what was found, or the error.
        depth: deepest overlap by the measurement here [m].
        cost: CPU time per time of the simulation.
    """

    kind: str
    why: str
    depth: float
    cost: float


def convex(
    name: str, joint: int, vertices: np.ndarray, radius: float = 0.0, layer: float = 0.0
) -> Solid:
    """The points within a radius of the hull of some vertices."""
    centre = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    reach = float(np.linalg.norm(vertices - centre, axis=1).max()) + radius
    turn, place = np.eye(3), np.zeros(3)
    if len(vertices) == 1:
        shape, place = coal.Sphere(radius), vertices[0]
    elif len(vertices) == 2:
        along, up = vertices[1] - vertices[0], np.array([0.0, 0.0, 1.0])
        turn = pin.Quaternion.FromTwoVectors(up, along).matrix()
        shape, place = coal.Capsule(radius, float(np.linalg.norm(along))), centre
    else:
        points = coal.StdVec_Vec3s()
        for vertex in vertices:
            points.append(np.ascontiguousarray(vertex))
        shape = coal.Convex.convexHull(points, True, "Qt")
        shape.setSweptSphereRadius(radius)
    return Solid(name, joint, shape, turn, place, centre, reach, layer)


def layers(model: hs.Model) -> dict[int, float]:
    """By joint of a foot, how far what is drawn goes below the top of its sole [m]."""
    points = model.tag_points(model.contact_names)
    found = {}
    for sole in model.soles:
        frame = model.pin.frames[frame_index(model.pin, sole.name)]
        joint, up = int(frame.parentJoint), frame.placement.rotation[:, 2]
        corners = points.local[points.row == list(points.joints).index(joint)]
        length = float(np.linalg.norm(np.ptp(corners, axis=0)))
        drawn = [
            (shape.vertices @ up).min() - shape.radius
            for shape in collision_shapes(model)
            if shape.joint == joint
        ]
        found[joint] = float((corners @ up).min() + SOLE * length - min(drawn))
    return found


class Measure:
    """How deep drawn solids overlap.

    Args:
        model: of the robot.
        ground: what stands on its floor; without it links alone count, with the rims
            of their soles.
    """

    def __init__(self, model: hs.Model, ground: hs.Ground | None = None) -> None:
        self._model, self._data = model, model.data()
        rims = {} if ground is None else layers(model)
        self._shapes = collision_shapes(model)
        self.links = [
            convex(s.link, s.joint, s.vertices, s.radius, rims.get(s.joint, 0.0))
            for s in self._shapes
        ]
        self._fixed: list[Solid] = []
        self._floor = ground is not None
        for solid in () if ground is None else ground.solids:
            self._fixed += _fixed_solids(solid)
        apart = usual_pairs(model)[0]
        self._pairs = [
            (one, other)
            for k, one in enumerate(self.links)
            for other in self.links[k + 1 :]
            if frozenset((one.name, other.name)) in apart
        ]
        self._request, self._result = coal.DistanceRequest(), coal.DistanceResult()

    def lowest(self, q: np.ndarray) -> float:
        """Height of the lowest point of all links [m]."""
        pin.forwardKinematics(self._model.pin, self._data, q)
        return min(height for height, _ in self._heights())

    def deepest(self, q: np.ndarray) -> tuple[float, str]:
        """The deepest overlap, less what is of a sole's rim, and of what [m]."""
        pin.forwardKinematics(self._model.pin, self._data, q)
        worst, names = 0.0, ""
        for depth, text in self._depths():
            if depth > worst:
                worst, names = depth, text
        return worst, names

    def _heights(self) -> Iterator[tuple[float, Solid]]:
        for shape, link in zip(self._shapes, self.links, strict=True):
            pose = self._data.oMi[shape.joint]
            heights = shape.vertices @ pose.rotation[2] + pose.translation[2]
            yield float(heights.min()) - shape.radius, link

    def _depths(self) -> Iterator[tuple[float, str]]:
        if self._floor:
            for height, link in self._heights():
                yield -height - link.layer, f"{link.name} and floor"
        ends = np.array([self._pose(link).act(link.centre) for link in self.links])
        if self._fixed:
            centres = np.array([solid.centre for solid in self._fixed])
            reaches = np.array([solid.reach for solid in self._fixed])
            for link, end in zip(self.links, ends, strict=True):
                away = np.linalg.norm(centres - end, axis=1)
                for k in np.flatnonzero(away < reaches + link.reach):
                    yield self._depth(link, self._fixed[k])
        places = {id(link): end for link, end in zip(self.links, ends, strict=True)}
        for one, other in self._pairs:
            away = np.linalg.norm(places[id(one)] - places[id(other)])
            if away < one.reach + other.reach:
                yield self._depth(one, other)

    def _pose(self, solid: Solid) -> pin.SE3:
        return self._data.oMi[solid.joint] if solid.joint else pin.SE3.Identity()

    def _depth(self, one: Solid, other: Solid) -> tuple[float, str]:
        parts = []
        for solid in (one, other):
            pose = self._pose(solid)
            turn, place = pose.rotation @ solid.turn, pose.act(solid.place)
            parts += [solid.shape, coal.Transform3s(turn, place)]
        self._result.clear()
        distance = float(coal.distance(*parts, self._request, self._result))
        if distance < NONE:
            distance = -min(one.reach, other.reach)
        depth = -distance - max(one.layer, other.layer)
        return depth, f"{one.name} and {other.name}"


def _fixed_solids(solid: object) -> list[Solid]:
    """A box, or the prisms below the upper triangles of rubble; nothing of a floor."""
    if isinstance(solid, hs.Box):
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        turn = np.eye(3) if solid.rotation is None else solid.rotation
        corners = (signs * np.array(solid.size)) @ turn.T + np.array(solid.centre)
        return [convex(solid.name, 0, corners)]
    vertices = getattr(solid, "vertices", None)
    if vertices is None:
        return []
    prisms, bottom = [], float(vertices[:, 2].min())
    for a, b, c in vertices[solid.faces]:  # type: ignore[attr-defined]
        if np.cross(b - a, c - a)[2] > 1e-12:
            top = np.array([a, b, c])
            low = np.column_stack([top[:, :2], np.full(3, bottom)])
            prisms.append(convex("rubble", 0, np.vstack([top, low])))
    return prisms


def ground_of(
    kind: str, size: float, rng: np.random.Generator
) -> tuple[hs.Ground, float]:
    """A ground for a robot of a size, and how high it is [m]."""
    ground = hs.Ground(
        friction=float(rng.uniform(0.2, 1.0)), restitution=float(rng.uniform(0.0, 0.5))
    )
    if kind == "stairs":
        rise, depth = 0.08 * size, 0.16 * size
        return ground.with_steps(4, rise, depth, -0.3 * size, 2.0 * size), 4 * rise
    if kind == "rubble":
        high, spacing = 0.06 * size, 0.12 * size
        seed, half = int(rng.integers(1 << 30)), 12 * spacing
        area = (2 * half, 2 * half)
        return ground.with_rubble(seed, high, area, spacing, -half), high
    boxes = []
    for k in range(4):
        edges = size * rng.uniform(0.05, 0.3, 3)
        yaw = rng.uniform(0.0, np.pi)
        x, y = size * rng.uniform(-0.4, 0.4, 2)
        boxes.append(
            hs.Box(
                tuple(edges.tolist()),
                (float(x), float(y), float(edges[2] / 2)),
                pin.exp3(np.array([0.0, 0.0, yaw])),
                name=f"box_{k}",
            )
        )
    return ground.with_solids(*boxes), max(box.size[2] for box in boxes)


def posture(
    model: hs.Model, links: Measure, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Random joints and velocities, in any orientation; links are apart."""
    low, high = np.array(model.lower_limits), np.array(model.upper_limits)
    for k in range(TRIES):
        q, share = model.neutral(), rng.uniform(0.1, 1.0) * (1.0 - k / TRIES)
        q[7:] += share * (np.clip(rng.uniform(low, high), -2.5, 2.5) - q[7:])
        if links.deepest(q)[0] == 0.0:
            break
    turn = rng.normal(size=4)
    q[3:7] = turn / np.linalg.norm(turn)
    return q, np.concatenate([0.5 * rng.normal(size=6), rng.normal(size=model.nv - 6)])


def servos(model: hs.Model, name: str) -> hs.Servo:
    """Servos that hold the joints."""
    if name == "khr1":
        return hs.Servo(model)
    return hs.Servo(
        model,
        gain=800.0,
        damping=40.0,
        stall_torque=300.0,
        no_load_speed=12.0,
        speed=12.0,
        rotor_inertia=0.05 if name == "human36" else 0.0,
        coulomb=0.5,
        viscous=0.1,
    )


def height_of(model: hs.Model, links: Measure) -> float:
    """From the lowest to the highest point in the zero position [m]."""
    q = model.neutral()
    upside_down = q.copy()
    upside_down[3:7] = 1.0, 0.0, 0.0, 0.0
    return -links.lowest(q) + 2.0 * float(q[2]) - links.lowest(upside_down)


def drop(
    name: str, model: hs.Model, method: str, seed: int, seconds: float, limit: float
) -> Outcome:
    """A drop by a seed; ``limit``: CPU time per time of the simulation; 0: none."""
    rng, links = np.random.default_rng(seed), Measure(model)
    size = height_of(model, links)
    ground, top = ground_of(GROUNDS[seed % len(GROUNDS)], size, rng)
    q, v = posture(model, links, rng)
    q[:2] = size * rng.uniform(-0.1, 0.1, 2)
    q[2] += top + size * rng.uniform(0.02, 0.3) - links.lowest(q)
    v[:3] *= np.sqrt(size)
    held = (seed // len(GROUNDS)) % 2 == 1
    actuation = servos(model, name) if held else None
    sim = hs.Simulation(model, actuation, ground=ground, method=method)
    expired: list[bool] = []

    def stop(*_: object) -> None:
        expired.append(True)
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit * seconds)  # zero: none
    start, depth = time.process_time(), 0.0
    try:
        run = sim.run(q, v, t_end=seconds, sampling_period=PERIOD)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        cost = (time.process_time() - start) / seconds
        kind, why, depth = judged(run, Measure(model, ground))
    except Exception as error:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        cost = (time.process_time() - start) / seconds
        kind = "refused" if isinstance(error, hs.HumansError) else "untyped"
        kind, why = "slow" if expired else kind, f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    return Outcome(kind, why, depth, cost)


def judged(run: hs.Run, measure: Measure) -> tuple[str, str, float]:
    """How a run that has ended is, why, and its deepest overlap [m]."""
    found = [
        f"{finding.name} {finding.value:.1e} {finding.where}"
        for finding in run.check().findings
        if finding.ok is False
    ]
    depths = [(*measure.deepest(q), t) for t, q in zip(run.t, run.q, strict=True)]
    depth, names, when = max(depths, key=lambda row: row[0])
    if depth > LIMIT:
        found.append(f"drawn overlap {depth:.1e} {names} at {when:.6g} s")
    return "finding" if found else "clean", "; ".join(found), depth


def main() -> int:
    """Print each drop that is not clean, and a table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--seeds", type=int, default=40, help="drops of a model")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=20.0)
    given = parser.parse_args()
    outcomes: dict[tuple[str, str, str], list[Outcome]] = {}
    for name in given.models:
        model = hs.load_model(name)
        for method in given.methods:
            for seed in range(given.first, given.first + given.seeds):
                ground = GROUNDS[seed % len(GROUNDS)]
                own = outcomes.setdefault((name, ground, method), [])
                if not own:  # what is compiled now is not slow
                    drop(name, model, method, seed, given.seconds, 0.0)
                own.append(drop(name, model, method, seed, given.seconds, given.limit))
                if own[-1].kind != "clean":
                    said = f"{own[-1].kind}: {own[-1].why}"
                    print(f"{name} {ground} {method} seed {seed} {said}", flush=True)
    every = [outcome for own in outcomes.values() for outcome in own]
    table = Table(title=f"{len(every)} drops, {given.seconds:g} s each")
    for column in ("model", "ground", "method"):
        table.add_column(column)
    kinds = ("clean", "finding", "refused", "untyped", "slow")
    for column in ("drops", *kinds, "overlap [m]", "CPU s/s", "most"):
        table.add_column(column, justify="right")
    keys = sorted(outcomes, key=lambda key: MODELS.index(key[0]))
    for key, after in pairwise([*keys, ("", "", "")]):
        own = outcomes[key]
        counts, costs = Counter(o.kind for o in own), [o.cost for o in own]
        table.add_row(
            *key,
            str(len(own)),
            *(str(counts[kind]) for kind in kinds),
            f"{max(o.depth for o in own):.0e}",
            f"{np.mean(costs):.1f}",
            f"{max(costs):.1f}",
            end_section=key[0] != after[0],
        )
    Console(width=110).print(table)
    counts = Counter(outcome.kind for outcome in every)
    deepest = max(outcome.depth for outcome in every)
    print(", ".join(f"{counts[kind]} {kind}" for kind in kinds))
    sound = counts["clean"] >= CLEAN * len(every) and not counts["untyped"]
    return int(not (sound and deepest <= LIMIT))


if __name__ == "__main__":
    sys.exit(main())
