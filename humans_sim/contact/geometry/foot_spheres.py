# SPDX-License-Identifier: Apache-2.0
"""How the feet of a model touch: points, soles, or balls that roll from heel to toe.

Points all over a sole feel what lies under its middle: the edge of a step, a stone.

A foot on balls has one under its heel and two under its fore-foot. They lie in the
sole, their lowest points in its plane: a model stands on them as high as on its sole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from humans_sim.core.budget import CONTACT_POINTS
from humans_sim.core.convex_polygon import convex_hull, inside
from humans_sim.core.errors import ParameterError
from humans_sim.models.description import Sole, Tag
from humans_sim.models.legs import corner_places
from humans_sim.models.model import Model

POINTS, SOLES, SPHERES = "points", "soles", "spheres"
SOLE_POINTS = "sole_points"
GEOMETRIES = (POINTS, SOLES, SPHERES, SOLE_POINTS)
POINT_SPACING = 0.02
"""Distance of the points of a sole unless given [m]."""
LENGTH_SHARE, WIDTH_SHARE = 1 / 12, 1 / 4
"""Greatest radius of a ball unless given, in lengths and widths of its sole."""
_FLAT = 1e-6
"""How far from one plane the corners of a sole may be, in lengths of the sole."""


@dataclass(frozen=True)
class Feet:
    """A model and how it touches: arguments of a simulation.

    Attributes:
        radii: of the balls, by tag [m].
    """

    model: Model
    contacts: tuple[str, ...]
    radii: Mapping[str, float]


def feet_of(model: Model, geometry: str, contacts: Sequence[str] | None = None) -> Feet:
    """The feet of a model by a word of ``Contacts.geometry``."""
    if geometry not in GEOMETRIES:
        raise ParameterError(
            f"contact_geometry must be one of {', '.join(GEOMETRIES)}, not '{geometry}'"
        )
    if geometry == SPHERES:
        return sphere_feet(model, contacts=contacts)
    if geometry == SOLE_POINTS:
        return sole_point_feet(model, contacts=contacts)
    names = model.contact_names if contacts is None else tuple(contacts)
    if geometry == SOLES:
        corners = _corners(model)
        names = tuple(name for name in names if name in corners)
    return Feet(model, names, {})


def sphere_feet(
    model: Model,
    heel_radius: float | None = None,
    fore_radius: float | None = None,
    contacts: Sequence[str] | None = None,
) -> Feet:
    """Feet on balls: ``<sole>_heel``, ``<sole>_fore_left``, ``<sole>_fore_right``.

    The heel ball lies at the back of the sole, as far in as its radius. The others lie
    at the left and right corners of the front half, moved in where they would stand
    out. So a rectangular sole has them in its corners, a human one under the heads of
    the first and the fifth metatarsal.
    """
    corners = _corners(model)
    balls: dict[str, dict[str, Any]] = {}
    radii: dict[str, float] = {}
    for sole in model.soles:
        balls[sole.name] = {}
        for name, radius, tag in _foot(model, sole, heel_radius, fore_radius):
            balls[sole.name][name] = [tag.link, *tag.position.tolist()]
            radii[name] = radius
    names = model.contact_names if contacts is None else tuple(contacts)
    kept = [name for name in names if name not in corners]
    standing = with_sphere_tags(model, balls)
    return Feet(standing, (*radii, *(n for n in kept if n not in radii)), radii)


def sole_point_feet(
    model: Model, spacing: float = POINT_SPACING, contacts: Sequence[str] | None = None
) -> Feet:
    """Soles with points all over them, beside their corners: ``<sole>_point_<k>``.

    What has corners alone does not feel an edge or a stone under its middle. Points
    feel an edge at most one spacing off, and stones that are wider than a spacing.
    """
    if not (math.isfinite(spacing) and spacing > 0):
        raise ParameterError(f"spacing of points must be above 0 m, not {spacing}")
    _corners(model)
    q, points = model.neutral(), {}
    links = {tag.name: tag.link for tag in model.parts.tags}
    for sole in model.soles:
        corners, link = corner_places(model, sole), links[sole.contacts[0]]
        pose = model.frame_pose(q, link).actInv(model.frame_pose(q, sole.name))
        points[sole.name] = {
            f"{sole.name}_point_{k}": [link, *pose.act(place).tolist()]
            for k, place in enumerate(_cover(corners, spacing, sole.name))
        }
    names = model.contact_names if contacts is None else tuple(contacts)
    added = [name for own in points.values() for name in own]
    kept = [name for name in names if name not in added]
    return Feet(with_sphere_tags(model, points), (*kept, *added), {})


def _cover(corners: np.ndarray, spacing: float, name: str) -> np.ndarray:
    """Points on the border of a flat sole and inside, without its corners (n, 3)."""
    outline = convex_hull(corners[:, :2])
    if len(outline) < 3:
        raise ParameterError(f"the sole {name} has no outline of three corners or more")
    low, high = outline.min(axis=0), outline.max(axis=0)
    sides = np.ceil((high - low) / spacing) + 1
    CONTACT_POINTS.check(f"the sole {name}", *sides)
    counts = sides.astype(int)
    axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, counts, strict=True)]
    places = [np.array([x, y]) for x in axes[0] for y in axes[1]]
    for begin, end in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        count = math.ceil(float(np.linalg.norm(end - begin)) / spacing)
        places += [begin + (end - begin) * k / count for k in range(1, count)]
    region, chosen = inside(outline), list(outline)
    for place in places:
        apart = np.linalg.norm(np.array(chosen) - place, axis=1).min()
        if region.depth(place) > -_FLAT and apart > 0.3 * spacing:
            chosen.append(place)
    height = float(corners[:, 2].min())
    return np.array([(*place, height) for place in chosen[len(outline) :]])


def sphere_tags(model: Model) -> dict[str, dict[str, list[Any]]]:
    """Balls of a model as plain data: by sole and name, link and centre in it."""
    tags = {tag.name: tag for tag in model.parts.tags}
    return {
        sole.name: {
            name: [tags[name].link, *tags[name].position.tolist()]
            for name in sole.spheres
        }
        for sole in model.soles
        if sole.spheres
    }


def with_sphere_tags(
    model: Model, balls: Mapping[str, Mapping[str, Sequence[Any]]]
) -> Model:
    """A model with balls of :func:`sphere_tags`, and no others, in its soles."""
    parts = model.parts
    old = {name for sole in model.soles for name in sole.spheres}
    kept = [tag for tag in parts.tags if tag.name not in old]
    taken = {tag.name for tag in kept}
    added, soles = [], []
    for sole in model.soles:
        own = balls.get(sole.name, {})
        for name, (link, *place) in own.items():
            if name in taken:
                raise ParameterError(f"{model.name} has a tag '{name}' already")
            centre = np.array(place, dtype=float)
            if not (model.pin.existFrame(link) and centre.shape == (3,)):
                raise ParameterError(
                    f"the ball {name} has no place on {model.name}: {link}, {place}"
                )
            added.append(Tag(name, link, centre))
        soles.append(replace(sole, spheres=tuple(own)))
    return Model(replace(parts, tags=(*kept, *added), soles=tuple(soles)))


def _corners(model: Model) -> set[str]:
    if not model.soles:
        raise ParameterError(
            f"{model.name} has no soles: name them in its YAML, or give contacts and "
            "radii one by one"
        )
    return {name for sole in model.soles for name in sole.contacts}


def _foot(
    model: Model, sole: Sole, heel_radius: float | None, fore_radius: float | None
) -> list[tuple[str, float, Tag]]:
    """Names, radii and centres of the balls of one foot."""
    q = model.neutral()
    pose = model.frame_pose(q, sole.name)
    corners = corner_places(model, sole)
    low, high = corners.min(axis=0), corners.max(axis=0)
    length, width, height = high - low
    if len(corners) < 3 or not (length > 0 and width > 0 and height < _FLAT * length):
        raise ParameterError(
            f"the sole {sole.name} of {model.name} has no flat outline: it must have "
            "three corners or more in a plane across z of its frame"
        )
    default_radius = min(LENGTH_SHARE * length, WIDTH_SHARE * width)
    heel, fore = (
        _radius(given, default_radius, width / 2, f"{word} of {sole.name}")
        for word, given in (("heel_radius", heel_radius), ("fore_radius", fore_radius))
    )
    rear = corners[corners[:, 0] <= low[0] + length / 2]
    front = corners[corners[:, 0] >= low[0] + length / 2]
    left, right = front[np.argmax(front[:, 1])], front[np.argmin(front[:, 1])]
    if high[0] - fore <= low[0] + heel or left[1] - right[1] <= 0:
        raise ParameterError(
            f"the balls do not fit into the sole {sole.name} of {model.name}, "
            f"{length:.3g} m by {width:.3g} m: give smaller radii"
        )
    places = {
        "heel": (low[0], rear[:, 1].mean(), heel),
        "fore_left": (left[0], left[1], fore),
        "fore_right": (right[0], right[1], fore),
    }
    balls = []
    links = {tag.name: tag.link for tag in model.parts.tags}
    for word, (x, y, radius) in places.items():
        within = np.clip([x, y], low[:2] + radius, high[:2] - radius)
        centre = np.array([*within, low[2] + radius])
        nearest = np.argmin(np.linalg.norm(corners - centre, axis=1))
        link = links[sole.contacts[nearest]]
        local = model.frame_pose(q, link).actInv(pose.act(centre))
        name = f"{sole.name}_{word}"
        balls.append((name, radius, Tag(name, link, local)))
    return balls


def _radius(given: float | None, usual: float, most: float, what: str) -> float:
    if given is None:
        return float(usual)
    if not (math.isfinite(given) and 0 < given <= most):
        raise ParameterError(
            f"{what} must be above 0 and at most half the sole's width, {most:.3g} m, "
            f"not {given}"
        )
    return float(given)
