# SPDX-License-Identifier: Apache-2.0
"""Scenarios: simulations described by small YAML files that anyone can copy.

A scenario names a biped model and its scene, or one of the classic problems of
:mod:`humans_sim.dynamics.problems`, or free bodies, with a biped among them or without,
or a wrist; where it starts; and how long it runs.

:func:`simulate` goes from its name to a run. The start of a scenario serves others that
simulate its body elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.core.budget import RATE, SAMPLES
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import check_ending, check_output_file, is_file
from humans_sim.core.resources import named_file, resource_names
from humans_sim.core.yaml_file import YamlValue, located_errors, parse_yaml, read_yaml
from humans_sim.models import Model
from humans_sim.models.catalogue import model_name_in
from humans_sim.results.run import Run

if TYPE_CHECKING:
    from humans_sim.applications.wrist_scenarios import WristSetup


WRIST, NETWORK = "wrist", "network"
"""Methods of scenarios with a wrist or a puppet, which have their own."""
_TIME = ("end", "sampling_period")
TOLERANCES = {
    "rtol": "relative tolerance of the integrator",
    "atol": "absolute tolerance of the integrator [m, rad, m/s, rad/s]",
    "max_step": "largest step of the integrator [s]",
    "max_work": "evaluations that 10 ms of motion may take",
    "zeno_time": "impacts of one contact closer than this pile up [s]",
    "zeno_speed": "if they are slower than this, too [m/s]",
    "creep_speed": "speed below which friction is less than Coulomb's [m/s]",
}
"""Numbers of the integration, in files of scenarios and as parameters of nodes."""
_OPTIONS = ("integrator", "impact", "time_step", "hand_over", *TOLERANCES)
_OPTIONAL = (
    *("model", "problem", "puppet", "parameters", "bodies", "wrist", "coat", "loads"),
    *("ground", "locked", "free", "limits", "joint_damping", "joint_friction"),
    *("radii", "contacts", "contact_geometry", "self_collision", "whole_body"),
    *("stands", "gravity", "flight", "actuation", "controller", "pushes", "sensors"),
    *("feedback", "start", "method", "options"),
)
SECTIONS = ("title", "time", *_OPTIONAL)
"""Keys of a scenario's file."""
_BODIES_ONLY = ("loads", "flight")
_BIPEDS_ONLY = (
    *("coat", "locked", "free", "limits", "joint_damping", "joint_friction"),
    *("pushes", "sensors", "feedback", "start", "stands"),
)


@dataclass(frozen=True)
class Scenario:
    """A simulation as a file describes it.

    Attributes:
        model: name of a biped model, or path of a URDF from the file's folder or the
            present one; None for a classic problem.
        end: time at the end [s].
        sampling_period: [s].
        method: ``event_driven`` or ``time_stepping``; ``wrist`` for one.
        friction: Coulomb's coefficient instead of the ground's own law, or None.
        feedback: what its controller sees instead of what the file says, or None
            (:mod:`humans_sim.applications.control_sections`).
        actuation: ``torque`` or ``servo`` instead of the file's, or None.
        walking: file of a walk instead of the model's own, or None.
        pace: of a walk, instead of the scenario's, or None.
        coupling: of a coat instead of what the file says, ``one_way`` or ``two_way``.
    """

    name: str
    title: str
    model: str | None
    end: float
    sampling_period: float
    method: str
    options: dict[str, Any]
    _fields: dict[str, YamlValue]
    friction: float | None = None
    feedback: str | None = None
    actuation: str | None = None
    walking: Path | None = None
    pace: tuple[float, ...] | None = None
    folder: Path = Path()
    coupling: str | None = None

    def with_changes(self, **changes: Any) -> Scenario:
        """The same with another model, end, method, friction, feedback or options.

        Raises:
            ParameterError: it has no such thing to change.
        """
        if changes.get("actuation") is not None and "controller" not in self._fields:
            raise ParameterError(
                f"the scenario '{self.name}' has no controller: no other actuation"
            )
        bipeds = ["model", "feedback", "actuation", "walking", "pace"]
        if not self.has_wrist:
            bipeds.append("friction")
        for key in bipeds:
            if changes.get(key) is not None and self.model is None:
                raise ParameterError(
                    f"the scenario '{self.name}' has no biped model: no other {key}"
                )
        given = {key: value for key, value in changes.items() if value is not None}
        options = {**self.options, **given.pop("options", {})}
        if self.has_wrist and (options or given.get("method", self.method) != WRIST):
            raise ParameterError(f"'{self.name}' moves a wrist: no method, no options")
        return replace(self, options=options, **given)

    @property
    def sections(self) -> tuple[str, ...]:
        """Keys of its file."""
        return tuple(self._fields)

    @property
    def has_bodies(self) -> bool:
        """Whether there are free bodies."""
        return "bodies" in self._fields

    @property
    def has_wrist(self) -> bool:
        """Whether it is of a wrist."""
        return "wrist" in self._fields

    @property
    def has_network(self) -> bool:
        """Whether it is a network of masses."""
        return "puppet" in self._fields

    def wrist(self) -> WristSetup:
        """The motion of its wrist, before it is computed."""
        from humans_sim.applications.wrist_scenarios import WristSetup

        span = (self.end, self.sampling_period)
        return WristSetup.of(self._fields, self.folder, *span, self.friction)

    def prepare(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """The simulation with its start: (Simulation, q0, v0)."""
        if self.has_wrist or self.has_network:
            what = "moves a wrist" if self.has_wrist else "is a network"
            raise ParameterError(f"'{self.name}' {what}: it is run as a whole")
        if self.has_bodies:
            return self._prepare_scene()
        if self.model is None:
            from humans_sim.applications.problem_scenarios import prepare_problem
            from humans_sim.applications.scene_files import start_keys

            fields = self._fields
            return prepare_problem(
                fields, start_keys(fields), self.method, self.options
            )
        return self._prepare_model(self.model)

    def _prepare_scene(self) -> tuple[Any, np.ndarray, np.ndarray]:
        from humans_sim.actuation.robots import RobotSetup
        from humans_sim.applications.problem_scenarios import prepare_scene
        from humans_sim.applications.scene_files import ground_of
        from humans_sim.models import load_model

        model = None if self.model is None else load_model(self.model)
        setup = RobotSetup() if model is None else RobotSetup.of_model(model)
        ground = ground_of(self._fields.get("ground"), setup.friction)
        if self.friction is not None:
            ground = replace(ground, law="coulomb", friction=self.friction)
        options = {"time_step": setup.time_step, **self.options}
        return prepare_scene(self._fields, model, ground, options)

    def _prepare_model(self, name: str) -> tuple[Any, np.ndarray, np.ndarray]:
        from humans_sim.actuation.robots import RobotSetup
        from humans_sim.applications.control_sections import ControlSetup, with_feedback
        from humans_sim.applications.scene_files import (
            geometry_of,
            ground_of,
            limits_of,
            model_start,
            pushes_of,
            self_collision_of,
            truth_of,
            values_of,
        )
        from humans_sim.dynamics.contacts import Contacts
        from humans_sim.dynamics.joints import ALL, BASE
        from humans_sim.dynamics.model_system import ModelSystem
        from humans_sim.dynamics.sensors import sensors_of
        from humans_sim.dynamics.simulation import Simulation
        from humans_sim.dynamics.soles import square_to_floor
        from humans_sim.models import load_model

        model, fields = load_model(name), self._fields
        setup = RobotSetup.of_model(model)
        ground = ground_of(fields.get("ground"), setup.friction)
        if self.friction is not None:
            ground = replace(ground, law="coulomb", friction=self.friction)
        if "coat" in fields:
            from humans_sim.applications.soft_sections import with_felt_coat

            ground = with_felt_coat(ground, model, fields["coat"], self.coupling)
        scene: dict[str, Any] = {"ground": ground}
        if "locked" in fields:
            locked = [item.text() for item in fields["locked"]]
            joints = {ALL, BASE, *model.joint_names}
            scene["locked"] = [joint for joint in locked if joint in joints]
        if "free" in fields:
            free = {item.text() for item in fields["free"]}
            unknown = sorted(free - {BASE, *model.joint_names})
            if unknown:
                raise fields["free"].error(f"{model.name} has no joint '{unknown[0]}'")
            scene["locked"] = [j for j in (BASE, *model.joint_names) if j not in free]
        if "contacts" in fields:
            scene["contacts"] = [item.text() for item in fields["contacts"]]
        if "limits" in fields:
            scene["limits"] = limits_of(fields["limits"])
        resistance: dict[str, Any] = {
            key: values_of(fields[key])
            for key in ("joint_damping", "joint_friction")
            if key in fields
        }
        if "radii" in fields:
            given = fields["radii"].mapping()
            scene["radii"] = {key: value.number() for key, value in given.items()}
        if "contact_geometry" in fields:
            feet = geometry_of(fields["contact_geometry"], model, scene.get("contacts"))
            model, scene["contacts"] = feet.model, feet.contacts
            scene["radii"] = {**feet.radii, **scene.get("radii", {})}
        whole_body = "contacts" not in fields and setup.whole_body
        if "whole_body" in fields:
            whole_body = truth_of(fields["whole_body"])
        if "gravity" in fields:
            scene["gravity"] = fields["gravity"].vector(3)
        known: dict[str, Any] = {"ground": ground}
        for key in ("contacts", "radii", "limits"):
            if key in scene:
                known[key] = scene[key]
            if key in fields:
                with located_errors(fields[key]):
                    ModelSystem(model, **known)
        actuation, controller = fields.get("actuation"), fields.get("controller")
        if self.actuation is not None:
            actuation = parse_yaml(f"{self.actuation}: {{}}")
        control = ControlSetup(None)
        parts = (actuation, controller, self.walking, self.pace)
        if any(part is not None for part in parts):
            from humans_sim.applications.scenario_control import build_controller

            control = build_controller(
                actuation, controller, model, scene, self.walking, self.pace
            )
        sensors = sensors_of(fields["sensors"]) if "sensors" in fields else []
        control = with_feedback(
            control, fields.get("feedback"), self.feedback, model, sensors
        )
        own_links = None
        if "self_collision" in fields:
            own_links = self_collision_of(fields["self_collision"])
        simulation = Simulation(
            model,
            control.actuation,
            control.controller,
            ground,
            self.method,
            contacts=Contacts(
                points=scene.get("contacts"),
                radii=scene.get("radii"),
                whole_body=whole_body,
                self_collision=own_links,
                limits=scene.get("limits", True),
                **resistance,
            ),
            locked=scene.get("locked", ()),
            pushes=pushes_of(fields.get("pushes")),
            sensors=sensors,
            gravity=scene.get("gravity"),
            stands="stands" in fields and truth_of(fields["stands"]),
            **{"time_step": setup.time_step, **self.options},
        )
        if control.start is not None and "start" not in fields:
            rest = np.zeros(model.nv)
            velocity = rest if control.velocity is None else control.velocity
            return simulation, square_to_floor(control.start, ground), velocity
        return (simulation, *model_start(fields, model, simulation.system))

    def run(
        self,
        progress: bool | Callable[[int, int], None] | None = None,
        save: Path | str | None = None,
    ) -> Run:
        """Simulate; a wrist gives a :class:`~humans_sim.anatomy.WristRun`.

        Args:
            progress: as of :meth:`~humans_sim.dynamics.simulation.Simulation.run`.
            save: file (``.npz``) that the samples are written to as they come.
        """
        if self.has_wrist:
            return self.wrist().run(progress, save)  # type: ignore[return-value]
        if self.has_network:
            from humans_sim.applications.soft_sections import run_puppet

            return run_puppet(self, self._fields["puppet"], save)
        simulation, q, v = self.prepare()
        if "coat" in self._fields:
            from humans_sim.applications.soft_sections import run_with_coat

            coat = self._fields["coat"]
            return run_with_coat(self, coat, (simulation, q, v), progress, save)
        run: Run = simulation.run(
            q,
            v,
            t_end=self.end,
            sampling_period=self.sampling_period,
            progress=progress,
            save=save,
        )
        return run


def _check_scene(root: YamlValue, fields: dict[str, YamlValue]) -> None:
    """Refuse what scenes with free bodies cannot do."""
    if "method" not in fields or fields["method"].text() != "time_stepping":
        raise root.error("free bodies need method: time_stepping")
    for key in (*_BIPEDS_ONLY, "problem"):
        if key in fields:
            raise fields[key].error("a scene with free bodies knows no such thing")


def scenario_names() -> list[str]:
    """Names of the scenarios that come with the package."""
    return resource_names("scenarios")


def read_scenario(name: str, settings: Mapping[str, str] | None = None) -> Scenario:
    """Read a scenario of the package, or a file of one's own.

    Args:
        name: of the scenario, or its file.
        settings: words and numbers instead of the file's, by their dotted keys.

    Raises:
        ParameterError: no such scenario.
        ModelFileError: the file is malformed, or a setting is.
    """
    path = named_file("scenarios", name, "scenario")
    root = read_yaml(path)
    for key, text in (settings or {}).items():
        root = root.with_value(key, text)
    fields = root.fields(("title", "time"), _OPTIONAL)
    own = "bodies" in fields or "wrist" in fields
    alone = own and not {"model", "problem", "puppet"} & set(fields)
    if not alone and len({"model", "problem", "puppet"} & set(fields)) != 1:
        raise root.error(
            "a scenario has either a model or a problem, bodies, a wrist or a puppet"
        )
    if "bodies" in fields:
        _check_scene(root, fields)
    for key in _BODIES_ONLY:
        if key in fields and "bodies" not in fields:
            raise fields[key].error("it is of free bodies, and the scene has none")
    time = fields["time"].fields(_TIME)
    end, period = (time[key].positive() for key in _TIME)
    SAMPLES.check("a run", end / period, error=fields["time"].error)
    options: dict[str, Any] = {}
    if "options" in fields:
        for key, value in fields["options"].fields((), _OPTIONS).items():
            word = key in ("integrator", "impact")
            options[key] = value.text() if word else value.positive()
            if key in ("time_step", "max_step"):
                RATE.check(key, 1.0 / options[key], error=value.error)
    methods = ("event_driven", "time_stepping")
    default_method = methods[0]
    if "puppet" in fields or "wrist" in fields:
        default_method = NETWORK if "puppet" in fields else WRIST
    model = model_name_in(fields["model"]) if "model" in fields else None
    if model is not None and is_file(path.parent / model):
        model = str(path.parent / model)
    return Scenario(
        name=path.stem,
        title=fields["title"].text(),
        model=model,
        end=end,
        sampling_period=period,
        method=fields["method"].choice(methods)
        if "method" in fields
        else default_method,
        options=options,
        _fields=fields,
        folder=path.parent,
    )


_ENDINGS = (".npz", ".mcap", ".csv")


def simulate(
    scenario: str | Path,
    *,
    model: str | None = None,
    t_end: float | None = None,
    method: str | None = None,
    friction: float | None = None,
    feedback: str | None = None,
    save: Path | str | None = None,
    progress: bool | Callable[[int, int], None] | None = None,
    **options: Any,
) -> Run:
    """Simulate a scenario of the package, or of a file of one's own.

    A wrist gives a :class:`~humans_sim.anatomy.WristRun`.

    Args:
        scenario: its name (``humans-sim run`` lists them), or a YAML file.
        model: another biped model than the scenario's.
        t_end: another time at the end [s].
        method: ``event_driven`` or ``time_stepping``, instead of the scenario's.
        friction: Coulomb's coefficient of the ground, instead of the scenario's law.
        feedback: what the controller sees, ``true_state`` or ``observer``, instead of
            what the scenario says.
        save: file to write: ``.npz`` (as samples come, with little memory), ``.mcap``
            or ``.csv``.
        progress: as of :meth:`~humans_sim.dynamics.simulation.Simulation.run`.
        options: of the integration, instead of the scenario's: fields of
            :class:`~humans_sim.dynamics.stepper.Options`.

    Raises:
        ParameterError: there is no such scenario, or a value is out of its range; what
            is wrong is known before anything is simulated.
        SimulationError: it could not be simulated to the end; the error holds the run
            so far.

    Examples:
        >>> import humans_sim as hs
        >>> run = hs.simulate("drop", t_end=0.1)
        >>> run.check().ok, len(run.t)
        (True, 11)
    """
    if t_end is not None and not t_end > 0:
        raise ParameterError(f"t_end must be above 0 s, not {t_end}")
    path = None if save is None else Path(save)
    if path is not None:
        check_output_file(path, _ENDINGS)
    chosen = read_scenario(str(scenario)).with_changes(
        model=model,
        end=t_end,
        method=method,
        friction=friction,
        feedback=feedback,
        options=options,
    )
    if chosen.has_wrist and path is not None:
        check_ending("a wrist", path, (".npz",))
    if path is None or path.suffix.lower() == ".npz":
        return chosen.run(progress=progress, save=path)
    run = chosen.run(progress=progress)
    if path.suffix.lower() == ".mcap":
        run.to_mcap(path)
    else:
        run.to_csv(path)
    return run


def scenario_start(name: str, model: Model) -> np.ndarray:
    """Configuration of a model at the start of a scenario (nq,).

    Raises:
        ParameterError: there is no such scenario, or it is of another model.
    """
    scenario = read_scenario(name)
    if scenario.model is None or scenario.has_bodies:
        raise ParameterError(f"{name} is no scenario of one biped alone")
    simulation, q, _ = scenario.prepare()
    if simulation.system.model.joint_names != model.joint_names:
        raise ParameterError(f"{name} is a scenario of another model: {scenario.model}")
    start: np.ndarray = q
    return start
