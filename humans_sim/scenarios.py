"""Scenarios: simulations described by small YAML files that anyone can copy.

A scenario names a biped model and its scene, or one of the classic problems of
:mod:`humans_sim.dynamics.problems`; where it starts; and how long it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from humans_sim.errors import ParameterError
from humans_sim.models.yaml_file import YamlValue, read_yaml
from humans_sim.resources import named_file, resource_names

_TIME = ("end", "sampling_period")
_GROUND = (
    "friction",
    "restitution",
    "law",
    "slope",
    "steps",
    "boxes",
    "chair",
    "empty",
)
_START = ("height", "tilt", "joints", "joint_speeds", "base_velocity", "q", "v")
_OPTIONS = (
    "integrator",
    "rtol",
    "atol",
    "max_step",
    "max_work",
    "impact",
    "time_step",
    "zeno_time",
    "zeno_speed",
)
_OPTIONAL = (
    "model",
    "problem",
    "parameters",
    "ground",
    "locked",
    "limits",
    "radii",
    "contacts",
    "gravity",
    "actuation",
    "start",
    "method",
    "options",
)


@dataclass(frozen=True)
class Scenario:
    """A simulation as a file describes it.

    Attributes:
        name: its name.
        title: one line for people.
        model: name of a biped model or path of a URDF; None for a classic problem.
        end: time at the end [s].
        sampling_period: [s].
        method: ``event_driven`` or ``time_stepping``.
        options: of the integration.
    """

    name: str
    title: str
    model: str | None
    end: float
    sampling_period: float
    method: str
    options: dict[str, Any]
    _fields: dict[str, YamlValue]

    def with_changes(self, **changes: Any) -> Scenario:
        """The same scenario with another model, end, method or options."""
        if changes.get("model") is not None and self.model is None:
            raise ParameterError(f"the scenario '{self.name}' has no biped model")
        given = {key: value for key, value in changes.items() if value is not None}
        options = {**self.options, **given.pop("options", {})}
        return replace(self, options=options, **given)

    def prepare(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """The simulation with its start: (Simulation, q0, v0)."""
        if self.model is None:
            return self._prepare_problem()
        return self._prepare_model(self.model)

    def _start(self) -> dict[str, YamlValue]:
        if "start" not in self._fields:
            return {}
        return self._fields["start"].fields((), _START)

    def _prepare_problem(self) -> tuple[Any, np.ndarray, np.ndarray]:
        from humans_sim.dynamics import problems
        from humans_sim.dynamics.simulation import Simulation

        chosen = self._fields["problem"]
        make: Callable[..., Any] = problems.PROBLEMS[
            chosen.choice(tuple(problems.PROBLEMS))
        ]
        parameters: dict[str, Any] = {}
        if "parameters" in self._fields:
            given = self._fields["parameters"].mapping()
            parameters = {key: value.plain() for key, value in given.items()}
        try:
            system = make(**parameters)
        except TypeError as error:
            raise chosen.error(f"these parameters do not fit: {error}") from None
        start = self._start()
        q = np.zeros(system.nq)
        v = np.zeros(system.nv)
        if "q" in start:
            q = start["q"].vector(system.nq, {"pi": math.pi})
        if "v" in start:
            v = start["v"].vector(system.nv)
        return Simulation(system, method=self.method, **self.options), q, v

    def _prepare_model(self, name: str) -> tuple[Any, np.ndarray, np.ndarray]:
        from humans_sim.dynamics.simulation import Simulation
        from humans_sim.models import load_model

        model, fields = load_model(name), self._fields
        arguments: dict[str, Any] = {}
        if "locked" in fields:
            wanted = [item.text() for item in fields["locked"]]
            arguments["locked"] = [j for j in wanted if j == "*" or _has(model, j)]
        if "contacts" in fields:
            arguments["contacts"] = [item.text() for item in fields["contacts"]]
        if "limits" in fields:
            arguments["limits"] = fields["limits"].choice(("true", "false")) == "true"
        if "radii" in fields:
            given = fields["radii"].mapping()
            arguments["radii"] = {key: value.number() for key, value in given.items()}
        if "gravity" in fields:
            arguments["gravity"] = fields["gravity"].vector(3)
        if "actuation" in fields:
            arguments["actuation"] = _actuation(fields["actuation"], model)
        simulation = Simulation(
            model,
            ground=_ground(fields.get("ground")),
            method=self.method,
            **arguments,
            **self.options,
        )
        return (simulation, *self._model_start(model, simulation.system))

    def _model_start(self, model: Any, system: Any) -> tuple[np.ndarray, np.ndarray]:
        import pinocchio as pin

        start = self._start()
        joints = np.zeros(len(model.joint_names))
        v = np.zeros(model.nv)
        names = list(model.joint_names)
        for key, target, scale in (
            ("joints", joints, math.pi / 180),
            ("joint_speeds", v[6:], 1.0),
        ):
            if key not in start:
                continue
            for name, value in start[key].mapping().items():
                if name in names:
                    target[names.index(name)] = scale * value.number()
                elif model.name == self._fields["model"].text():
                    raise value.error(f"{model.name} has no joint '{name}'")
        q = model.standing(joints)
        if "tilt" in start:
            angles = np.radians(start["tilt"].vector(3))
            turn = pin.Quaternion(pin.rpy.rpyToMatrix(*angles))
            q[3:7] = turn.coeffs()
            if model.contact_names:
                q[2] -= model.contact(q)[:, 2].min()
        if "height" in start:
            q[2] += start["height"].number()
        if "base_velocity" in start:
            v[:6] = start["base_velocity"].vector(6)
        return q, v

    def run(self, progress: bool | None = None) -> Any:
        """Simulate; returns the :class:`~humans_sim.dynamics.run.Run`."""
        simulation, q, v = self.prepare()
        return simulation.run(
            q,
            v,
            t_end=self.end,
            sampling_period=self.sampling_period,
            progress=progress,
        )


def _has(model: Any, joint: str) -> bool:
    return joint in model.joint_names


def _actuation(value: YamlValue, model: Any) -> Any:
    from humans_sim.actuation import Servo

    given = value.fields((), ("servo",))
    numbers = {}
    if "servo" in given:
        numbers = {k: v.number() for k, v in given["servo"].mapping().items()}
    try:
        return Servo(model, **numbers)
    except TypeError as error:
        raise value.error(f"these parameters do not fit: {error}") from None


def _ground(value: YamlValue | None) -> Any:
    from humans_sim.contact import Box, Ground, HalfSpace

    if value is None:
        return Ground()
    given = value.fields((), _GROUND)
    numbers = {k: given[k].number() for k in ("friction", "restitution") if k in given}
    law = given["law"].choice(("coulomb", "sticking")) if "law" in given else "coulomb"
    solids: tuple[HalfSpace, ...] = (HalfSpace(),)
    if "slope" in given:
        angle = math.radians(given["slope"].number())
        solids = (HalfSpace((-math.sin(angle), 0.0, math.cos(angle))),)
    if "empty" in given and given["empty"].choice(("true", "false")) == "true":
        solids = ()
    ground = Ground(law=law, solids=solids, **numbers)
    if "steps" in given:
        steps = given["steps"].fields(("count", "rise", "depth", "start"))
        ground = ground.with_steps(
            int(steps["count"].number()),
            steps["rise"].positive(),
            steps["depth"].positive(),
            steps["start"].number(),
        )
    if "chair" in given:
        chair = given["chair"].fields(("x",), ("seat_height",))
        heights = {k: v.positive() for k, v in chair.items() if k != "x"}
        ground = ground.with_chair(chair["x"].number(), **heights)
    for k, item in enumerate(given["boxes"].items() if "boxes" in given else ()):
        box = item.fields(("size", "centre"), ("name",))
        name = box["name"].text() if "name" in box else f"box_{k}"
        size, centre = box["size"].vector(3), box["centre"].vector(3)
        ground = ground.with_solids(Box(tuple(size), tuple(centre), name=name))
    return ground


def scenario_names() -> list[str]:
    """Names of the scenarios that come with the package."""
    return resource_names("scenarios")


def read_scenario(name: str) -> Scenario:
    """Read a scenario of the package, or a file of one's own.

    Raises:
        ParameterError: no such scenario.
        ModelFileError: the file is malformed.
    """
    path = named_file("scenarios", name, "scenario")
    root = read_yaml(path)
    fields = root.fields(("title", "time"), _OPTIONAL)
    if ("model" in fields) == ("problem" in fields):
        raise root.error("a scenario has either a model or a problem")
    time = fields["time"].fields(_TIME)
    options: dict[str, Any] = {}
    if "options" in fields:
        for key, value in fields["options"].fields((), _OPTIONS).items():
            word = key in ("integrator", "impact")
            options[key] = value.text() if word else value.positive()
    methods = ("event_driven", "time_stepping")
    return Scenario(
        name=path.stem,
        title=fields["title"].text(),
        model=fields["model"].text() if "model" in fields else None,
        end=time["end"].positive(),
        sampling_period=time["sampling_period"].positive(),
        method=fields["method"].choice(methods) if "method" in fields else methods[0],
        options=options,
        _fields=fields,
    )
