# SPDX-License-Identifier: Apache-2.0
"""Networks as YAML files."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from humans_sim.core.yaml_file import YamlValue, located_errors, read_yaml
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks import laws
from humans_sim.soft.networks.network import Network, box
from humans_sim.soft.networks.simulation import Floor, NetworkSimulation

LAWS = {
    "visco_spring": laws.ViscoSpring,
    "stop": laws.Stop,
    "hollow_stop": laws.HollowStop,
    "cohesion": laws.Cohesion,
    "dry_friction": laws.DryFriction,
    "plastic": laws.Plastic,
}
"""Laws by the names that files have for them."""


def load_network(path: str | Path) -> NetworkSimulation:
    """Read a network and make it ready to run.

    Args:
        path: a YAML file with ``period``, ``laws``, ``masses``, ``fixed``, ``driven``,
            ``boxes``, ``links``, ``crowds``, ``gravity`` and ``floor``
            (docs/soft.md).

    Raises:
        ModelFileError: the file is malformed; it names the line and the key.
    """
    top = read_yaml(path)
    parts = ("masses", "fixed", "driven", "boxes", "links", "crowds")
    fields = top.fields(("period", "laws"), (*parts, "gravity", "floor"))
    known = {name: _law(value) for name, value in fields["laws"].mapping().items()}
    network = Network()
    for name, value in _entries(fields, "masses").items():
        entry = value.fields(("mass", "at"), ("velocity",))
        velocity = _vector_of(entry, "velocity")
        with located_errors(value):
            mass, place = entry["mass"].number(), _vector(entry["at"])
            network.add_mass(mass, place, velocity, name)
    for name, value in _entries(fields, "fixed").items():
        network.add_fixed(_vector(value), name)
    for name, value in _entries(fields, "driven").items():
        network.add_driven(_vector(value), name)
    groups = {
        name: _add_box(network, name, value, known)
        for name, value in _entries(fields, "boxes").items()
    }
    for value in fields.get("links", ()):
        _add_link(network, value, known)
    for value in fields.get("crowds", ()):
        _add_crowd(network, value, known, groups)
    gravity = _vector_of(fields, "gravity")
    with located_errors(top):
        period = fields["period"].number()
        return NetworkSimulation(network, period, gravity, _floor(fields))


def _entries(fields: dict[str, YamlValue], key: str) -> dict[str, YamlValue]:
    return fields[key].mapping() if key in fields else {}


def _vector(value: YamlValue) -> np.ndarray:
    items = value.items()
    if len(items) != 3:
        raise value.error("three numbers are needed")
    return np.array([item.number() for item in items])


def _vector_of(fields: dict[str, YamlValue], key: str) -> np.ndarray:
    return _vector(fields[key]) if key in fields else np.zeros(3)


def _law(value: YamlValue) -> laws.LinkLaw:
    given = value.mapping()
    if "type" not in given:
        raise value.error("the key 'type' is missing")
    kind = given.pop("type").text()
    if kind not in LAWS:
        raise value.error(f"'{kind}' is no law (known: {', '.join(LAWS)})")
    known = {field.name for field in dataclasses.fields(LAWS[kind])}
    numbers: dict[str, float | bool] = {}
    for key, entry in given.items():
        if key not in known:
            raise entry.error(f"unknown key (known here: {', '.join(sorted(known))})")
        flag = key == "unilateral"
        numbers[key] = bool(entry.plain()) if flag else entry.number()
    try:
        law: laws.LinkLaw = LAWS[kind](**numbers)  # type: ignore[arg-type]
        laws.check_automaton(law.automaton())
    except (SoftError, TypeError) as fault:
        raise value.error(str(fault)) from fault
    return law


def _known_law(value: YamlValue, known: dict[str, laws.LinkLaw]) -> laws.LinkLaw:
    name = value.text()
    if name not in known:
        raise value.error(f"'{name}' is no law of this file")
    return known[name]


def _add_box(
    network: Network, name: str, value: YamlValue, known: dict[str, laws.LinkLaw]
) -> list[str]:
    """Add a box of masses; the names that they have."""
    entry = value.fields(("shape", "spacing", "mass", "law"), ("at", "velocity"))
    shape = [item.whole() for item in entry["shape"]]
    law = _known_law(entry["law"], known)
    offset, velocity = _vector_of(entry, "at"), _vector_of(entry, "velocity")
    with located_errors(value):
        brick = box(shape, entry["spacing"].number(), entry["mass"].number(), law)
        points = network.add_module(brick, f"{name}.", offset, velocity)
    return [network.names[point.index] for point in points]


def _add_link(
    network: Network, value: YamlValue, known: dict[str, laws.LinkLaw]
) -> None:
    entry = value.fields(("between", "law"), ("one_way",))
    ends = [item.text() for item in entry["between"]]
    if len(ends) != 2:
        raise value.error("a link is between two masses")
    law = _known_law(entry["law"], known)
    one_way = "one_way" in entry and bool(entry["one_way"].plain())
    with located_errors(value):
        network.add_link(network.point(ends[0]), network.point(ends[1]), law, one_way)


def _add_crowd(
    network: Network,
    value: YamlValue,
    known: dict[str, laws.LinkLaw],
    groups: dict[str, list[str]],
) -> None:
    """A law between all pairs of masses; masses of one box do not meet by it."""
    entry = value.fields(("of", "law"))
    names, parts = [], []
    for part, item in enumerate(entry["of"]):
        members = groups.get(item.text(), [item.text()])
        names += members
        parts += [part] * len(members)
    with located_errors(value):
        points = [network.point(name) for name in names]
        network.add_crowd(points, _known_law(entry["law"], known), parts)


def _floor(fields: dict[str, YamlValue]) -> Floor | None:
    if "floor" not in fields:
        return None
    keys = tuple(field.name for field in dataclasses.fields(Floor))
    entry = fields["floor"].fields((), keys)
    return Floor(**{key: value.number() for key, value in entry.items()})
