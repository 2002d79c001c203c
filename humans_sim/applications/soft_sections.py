# SPDX-License-Identifier: Apache-2.0
"""Coats and puppets, as the file of a scenario describes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.constants import DOWNWARD
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.models import Model
from humans_sim.results.run import Run

if TYPE_CHECKING:
    from humans_sim.applications.scenarios import Scenario
    from humans_sim.soft.skin.coat import BodyBall, Coat, Piece


_WAYS = ("one_way", "two_way")
_PIECE = ("name", "kind", "link", "at", "size", "counts", "mass", "stiffness")
_PIECE_OPTIONS = ("viscosity", "lean")
_BALL_OPTIONS = ("stiffness", "viscosity")


def with_felt_coat(
    ground: Ground, model: Model, value: YamlValue, coupling: str | None = None
) -> Ground:
    """A scene in which the biped wears a coat, if it feels it; else as it is."""
    if ground.surface is not None:
        raise value.error("coats are worn on rigid ground")
    coat = read_coat(model, value, coupling)
    return replace(ground, surface=coat) if coat.two_way else ground


def run_with_coat(
    scenario: Scenario,
    value: YamlValue,
    prepared: tuple[Any, np.ndarray, np.ndarray],
    progress: bool | Callable[[int, int], None] | None,
    save: Path | str | None,
) -> Run:
    """Simulate a biped that wears a coat; one way the coat comes after the body.

    What is prepared is the simulation of the biped, its configuration and velocity.

    Raises:
        CouplingError: one way, and the body would feel the coat.
    """
    from humans_sim.soft.skin.coat import coat_influences, refuse_two_way, with_coat

    simulation, q, v = prepared
    coat = read_coat(simulation.system.model, value, scenario.coupling)
    if not coat.two_way:
        refuse_two_way(coat_influences(simulation.system, q, coat))
    run: Run = simulation.run(
        q,
        v,
        t_end=scenario.end,
        sampling_period=scenario.sampling_period,
        progress=progress,
    )
    if not coat.two_way:
        run = with_coat(run, simulation.system, coat)
    if save is not None:
        run.save(save)
    return run


def read_coat(model: Model, value: YamlValue, coupling: str | None = None) -> Coat:
    """A coat of a file: its pieces, the balls of the body, how they are coupled."""
    from humans_sim.soft.skin.coat import Coat

    fields = value.fields(("pieces",), ("coupling", "period", "tolerance", "body"))
    numbers: dict[str, Any] = {
        key: fields[key].positive() for key in ("period", "tolerance") if key in fields
    }
    if coupling is None and "coupling" in fields:
        coupling = fields["coupling"].choice(_WAYS)
    if coupling not in (None, *_WAYS):
        raise value.error(f"a coupling is {' or '.join(_WAYS)}, not '{coupling}'")
    numbers["two_way"] = coupling == "two_way"
    balls = tuple(_ball(model, item) for item in fields.get("body", ()))
    pieces = tuple(_piece(model, item) for item in fields["pieces"])
    return Coat(pieces, balls, **numbers)


def _link(model: Model, value: YamlValue) -> str:
    name = value.text()
    if not model.pin.existFrame(name):
        raise value.error(f"{model.name} has no link '{name}'")
    return name


def _piece(model: Model, value: YamlValue) -> Piece:
    from humans_sim.soft.skin.coat import KINDS, Piece

    fields = value.fields(_PIECE, _PIECE_OPTIONS)
    kind = fields["kind"].choice(KINDS)
    count = 3 if kind == "pack" else 2
    options = {key: fields[key].number() for key in _PIECE_OPTIONS if key in fields}
    options.setdefault("viscosity", 0.0)
    with located_errors(value):
        return Piece(
            fields["name"].text(),
            kind,  # type: ignore[arg-type]
            _link(model, fields["link"]),
            tuple(fields["at"].vector(3)),
            tuple(fields["size"].vector(count)),
            tuple(item.whole() for item in fields["counts"]),
            fields["mass"].positive(),
            fields["stiffness"].positive(),
            **options,
        )


def _ball(model: Model, value: YamlValue) -> BodyBall:
    from humans_sim.soft.skin.coat import BodyBall

    fields = value.fields(("link", "at", "radius"), _BALL_OPTIONS)
    options = {key: fields[key].positive() for key in _BALL_OPTIONS if key in fields}
    return BodyBall(
        _link(model, fields["link"]),
        tuple(fields["at"].vector(3)),
        fields["radius"].positive(),
        **options,
    )


_NUMBERS = ("period", "step_height", "step_width", "step_time", "until")


def run_puppet(
    scenario: Scenario, value: YamlValue, save: Path | str | None = None
) -> Run:
    """Simulate the puppet of the thesis: the operator lifts its feet in turn."""
    from humans_sim.soft.networks.puppet import curves_of, puppet, run_network
    from humans_sim.soft.networks.simulation import NetworkSimulation

    fields = value.fields((), ("coat", *_NUMBERS))
    numbers = {key: fields[key].positive() for key in _NUMBERS if key in fields}
    coat = "coat" in fields and fields["coat"].choice(("true", "false")) == "true"
    network = puppet(coat)
    simulation = NetworkSimulation(network, numbers.get("period", 1e-3), DOWNWARD)
    feet = simulation.positions[np.array(network.driven)]
    high, wide = numbers.get("step_height", 0.05), numbers.get("step_width", 0.04)
    turn, until = numbers.get("step_time", 0.8), numbers.get("until", np.inf)

    def driven(t: float) -> np.ndarray:
        """Feet go up in turn, and to the side, until the operator rests."""
        phase = 2 * np.pi * min(t, turn * np.floor(until / turn)) / turn
        lift = high * np.maximum(0.0, [np.sin(phase), -np.sin(phase)]) ** 2
        sway = wide * np.sin(phase / 2) ** 2
        return feet + np.column_stack([0 * lift, [sway, sway], lift])

    run = run_network(
        simulation,
        scenario.end,
        scenario.sampling_period,
        "puppet",
        driven,
        curves_of(network),
    )
    if save is not None:
        run.save(save)
    return run
