# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node ``dynamics``, and what they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.actuation import IdealTorque, Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.scene_setup import SceneSetup, read_scene
from humans_sim.contact.geometry.foot_spheres import GEOMETRIES, POINTS
from humans_sim.contact.geometry.ground import LAWS, Ground
from humans_sim.control.trajectories.joint_trajectory import JointLimits
from humans_sim.core.errors import ParameterError
from humans_sim.core.settings import setting
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.contacts import Contacts
from humans_sim.dynamics.joints import ALL, BASE
from humans_sim.dynamics.scene_bodies import SceneBody, SceneRobot
from humans_sim.dynamics.scenes.scene_system import SceneActuation, SceneSystem
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.stepper import Stepper
from humans_sim.dynamics.system import TIME_STEPPING
from humans_sim.models import Model
from humans_sim.models.description import BASE_LINK
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.scene_robots import NamedRobot
from humans_sim.nodes.common.start_posture import NEUTRAL, start_posture
from humans_sim.nodes.common.trajectory_settings import TrajectorySettings
from humans_sim.nodes.dynamics.scene_parameters import (
    declare_gravity,
    declare_integration,
    declare_limits,
    declare_soft_ground,
    declare_solids,
)
from humans_sim.nodes.dynamics.sensors import NodeSensors

RobotState = tuple[np.ndarray, np.ndarray]
"""Configuration and velocity of a robot."""
LOCKSTEP, FREE = "lockstep", "free"
TORQUE, SERVO = "torque", "servo"


@dataclass(frozen=True)
class RobotSettings(NamedRobot):
    """A robot that is simulated.

    Attributes:
        place: where it starts, x and y [m], heading [rad]; none: the origin.
        trajectories: what of them its servos follow; None: none are served.
    """

    place: tuple[float, ...]
    sensors: NodeSensors
    trajectories: TrajectorySettings | None

    @property
    def entity(self) -> str:
        """Its name among all things of the simulation."""
        return self.name or self.model.name


@dataclass(frozen=True)
class DynamicsSettings:
    """Settings from the parameters.

    Attributes:
        robots: of the scene.
        timeout: wall time to wait for a command [s], infinite for ever.
        servos: whether commands are positions for servos, not torques.
        slope: of the floor [rad].
        servo: numbers of the servos that are not the robot's own.
        shows_scene: whether there is more than a floor.
        touching: what of the robot touches, as options of a simulation.
        options: further options of the simulation.
    """

    robots: tuple[RobotSettings, ...]
    lockstep: bool
    timeout: float
    servos: bool
    slope: float
    ground: Ground
    servo: Mapping[str, Any]
    scene: SceneSetup | None
    shows_scene: bool
    touching: Mapping[str, Any]
    options: Mapping[str, Any]
    period: float = setting(
        0.01, "time between states [s]", 1e-6, 1.0, name="sampling_period"
    )
    paused: bool = setting(False, "wait for pause or step", name="start_paused")
    world: str = setting("world", "frame of the ground truth", name="world_frame")
    base: str = setting(
        BASE_LINK, "frame of the base in ground truth", name="base_frame"
    )
    tf: bool = setting(True, "transform from world to base_frame", name="publish_tf")
    is_clock: bool = setting(
        True, "the node is the clock; false: it follows /clock", name="publish_clock"
    )
    posture: str = setting(NEUTRAL, "posture at the start")
    height: float = setting(
        0.0, "height above standing at the start [m]", 0.0, name="start_height"
    )
    armature: float = setting(
        0.0, "inertia of drives on every joint, with actuation torque [kg m^2]", 0.0
    )
    unlocked: tuple[str, ...] = setting((), "joints that move, although '*' is locked")
    walking: Path | None = setting(None, "how it walks; empty: the model's own")
    ground_period: float = setting(
        0.2, "between its messages [s]", 1e-3, name="soft_ground.publish_period"
    )
    record: Path | None = setting(
        None, "run file (.npz) that a run is written to; empty: none"
    )
    record_samples: int = setting(30_000, "newest samples kept for the record", 2)

    def __post_init__(self) -> None:
        """Refuse settings that exclude each other."""
        if self.armature and self.servos:
            raise ParameterError(
                "armature goes with actuation torque; servos have servo.rotor_inertia"
            )
        if self.record is not None and self.record.suffix != ".npz":
            raise ParameterError(
                f"record must be a file .npz, not '{self.record.name}'"
            )

    @classmethod
    def declare(
        cls, given: Parameters, robots: Sequence[NamedRobot]
    ) -> DynamicsSettings:
        """Declare the parameters and read them.

        Servos, friction, time step and body radius are those of the first robot's file
        in ``config/robots`` unless given; with torques the feet alone touch.
        """
        number, choice = given.number, given.choice
        model = robots[0].model
        robot = RobotSetup.of_model(model)
        sync = choice("sync", LOCKSTEP, "when to integrate", (LOCKSTEP, FREE))
        plain = given.settings(cls)
        timeout = number(
            "command_timeout",
            1.0,
            "lockstep: wall time after which the last command is held [s]; 0: never",
            low=0.0,
        )
        slope = math.radians(
            number("slope", 0.0, "the floor climbs along x [deg]", -80.0, 80.0)
        )
        scene_name = given.text(
            "scene", "", "scenario, or file, whose ground and bodies there are"
        )
        scene = read_scene(scene_name) if scene_name else None
        if scene is not None and slope:
            raise ParameterError("slope goes without scene, whose ground has its own")
        floor = given.flag("floor", True, "a floor; a scene has its own")
        ground = Ground(
            friction=number(
                "friction", robot.friction, "Coulomb's coefficient", low=0.0
            ),
            restitution=number("restitution", 0.0, "Newton's coefficient", 0.0, 1.0),
            law=choice("law", LAWS[0], "law of friction", LAWS),
            solids=Ground.slope(slope).solids if floor else (),
            rolling=number("rolling", 0.0, "rolling friction of balls [m]", low=0.0),
            torsional=number("torsional", 0.0, "torsional friction [m]", low=0.0),
        )
        actuation = choice("actuation", TORQUE, "what commands are", (TORQUE, SERVO))
        servo = {
            name: number(f"servo.{name}", value, "see humans_sim.actuation.Servo")
            for name, value in {"command_period": 0.0, **vars(robot.servo)}.items()
        }
        # What is as usual stays that of each joint, which may have a servo of its own.
        defaults = vars(robot.servo)
        servo = {key: x for key, x in servo.items() if x != defaults.get(key)}
        if scene is not None:
            ground = scene.ground(ground.friction)
        ground = declare_soft_ground(given, ground)
        solids = declare_solids(given)
        ground = ground.with_solids(*solids)
        touching = _touching(given, robot)
        options = {
            **declare_integration(given, robot.time_step),
            "limits": declare_limits(given, model),
            "limit_restitution": number(
                "limit_restitution", 0.0, "Newton's coefficient there", 0.0, 1.0
            ),
            "joint_damping": given.flag(
                "joint_damping", True, "whether the damping of the model's joints acts"
            ),
            "joint_friction": given.flag(
                "joint_friction", True, "whether their dry friction acts"
            ),
            "locked": given.texts(
                "locked", "joints that do not move; '*' for all, 'base' for the base"
            ),
        }
        return cls(
            robots=_robots(given, robots, plain["period"], actuation == SERVO),
            lockstep=sync == LOCKSTEP,
            timeout=timeout or math.inf,
            servos=actuation == SERVO,
            slope=slope,
            ground=ground,
            servo=servo,
            scene=scene,
            shows_scene=scene is not None or bool(solids),
            touching=touching,
            options=options,
            **plain,
        )

    def pace(self, factor: float) -> float:
        """Least wall time between states at a real-time factor, 0 for none [s].

        Where another node is the clock, that one's factor counts.
        """
        return self.period / factor if factor and self.is_clock else 0.0

    def servo_problem(self) -> str:
        """Why servos that nobody chose cannot carry a model; else empty."""
        chosen = self.servo.keys() - {"command_period"}
        if not self.servos or chosen:
            return ""
        models = [robot.model for robot in self.robots]
        problems = (RobotSetup.of_model(model).servo_problem(model) for model in models)
        return next(filter(None, problems), "")

    def _actuation(self, model: Model) -> Actuation:
        """Drives of a robot."""
        if self.servos:
            return Servo(model, **self.servo)
        actuation = IdealTorque(model)
        joints = len(model.joint_names)
        actuation.armature = np.repeat([0.0, self.armature], [6, joints])
        return actuation

    def simulation(self) -> Simulation:
        """A simulation with actuations of its own."""
        model = self.robots[0].model
        options: dict[str, Any] = {**self.options, "locked": self._locked(model)}
        touching = dict(self.touching)
        if self._is_shared:
            return self._scene_simulation(options)
        if self.scene is not None:
            own = self.scene.touching(model, touching.pop("whole_body", None))
            model, touching = own[0], {**own[1], **touching}
        gravity, resistance = touching.pop("gravity", None), self._resistance(options)
        contacts = Contacts(
            points=touching.pop("contacts", None),
            geometry=touching.pop("contact_geometry", POINTS),
            **touching,
            **resistance,
        )
        return Simulation(
            model,
            self._actuation(model),
            ground=self.ground,
            contacts=contacts,
            gravity=gravity,
            **options,
        )

    @staticmethod
    def _resistance(options: dict[str, Any]) -> dict[str, Any]:
        """Resistance of the joints, taken out of the options."""
        names = ("limits", "limit_restitution", "joint_damping", "joint_friction")
        return {name: options.pop(name) for name in names}

    @property
    def _is_shared(self) -> bool:
        """Whether a robot is among free bodies or other robots."""
        return len(self.robots) > 1 or bool(self._setup.bodies)

    @property
    def _setup(self) -> SceneSetup:
        """The scene; an empty one where none is given."""
        return SceneSetup((), ()) if self.scene is None else self.scene

    def _scene_simulation(self, options: dict[str, Any]) -> Simulation:
        """A simulation of robots among free bodies and each other."""
        if options.pop("locked") or options.pop("method") != TIME_STEPPING:
            movers = "several robots" if len(self.robots) > 1 else "free bodies"
            raise ParameterError(
                f"{movers} need method {TIME_STEPPING}, and no joint locked"
            )
        if "contact_geometry" in self.touching:
            raise ParameterError(
                "contact_geometry of a robot among free bodies stands in the scene"
            )
        if Contacts(**self._resistance(options)) != Contacts():
            raise ParameterError(
                "among free bodies joints have the model's limits, damping and friction"
            )
        first, *others = self.robots
        further = {robot.name: self._actuation(robot.model) for robot in others}
        actuation, scene = self._actuation(first.model), self._setup
        system = scene.system(
            self.ground,
            first.model,
            actuation.armature,
            others=[SceneRobot(robot.name, robot.model) for robot in others],
            **self.touching,
        )
        driven = SceneActuation(system, actuation, scene.loads, further)
        return Simulation(system, driven, method=TIME_STEPPING, **options)

    def spawning_problem(self) -> str:
        """Why no body can be put into the scene; empty: one can."""
        model = self.robots[0].model
        if self.options["method"] != TIME_STEPPING:
            return f"free bodies need method {TIME_STEPPING}"
        if self.options["locked"]:
            return "no joint may be locked among free bodies"
        if model.rotors is not None:
            return f"{model.name} has geared rotors, which a scene does not know"
        if self.ground.surface is not None:
            return "free bodies need rigid ground"
        if self.scene is not None and self.scene.loads:
            return "loads act on the bodies of the scene"
        return ""

    def with_body(self, body: SceneBody, pose: pin.SE3) -> DynamicsSettings:
        """The same with one body more in the scene."""
        scene = self._setup.with_body(body, pose)
        return replace(self, scene=scene, shows_scene=True)

    def without_bodies(self, names: Sequence[str]) -> DynamicsSettings:
        """The same without some bodies of the scene."""
        scene = self.scene
        for name in names:
            assert scene is not None
            scene = scene.without_body(name)
        return replace(self, scene=scene)

    def begin(self, states: Mapping[str, RobotState]) -> tuple[Simulation, Stepper]:
        """A new simulation, and its stepper at states of the robots by their names.

        Robots that are left out start as usual, free bodies where the scene has them.
        """
        simulation = self.simulation()
        every = {
            robot.name: states.get(robot.name) or self.start(robot)
            for robot in self.robots
        }
        q, v = every.pop(self.robots[0].name)
        if isinstance(simulation.system, SceneSystem):
            q, v = self._setup.start(simulation.system, q, v, every)
        return simulation, simulation.start(q, v)

    def _locked(self, model: Model) -> tuple[str, ...]:
        """Joints that do not move, by name where some are left out of all."""
        locked: tuple[str, ...] = self.options["locked"]
        if not self.unlocked:
            return locked
        unknown = sorted(set(self.unlocked) - set(model.joint_names))
        if unknown or ALL not in locked:
            raise ParameterError(
                f"unlocked takes joints out of locked: ['{ALL}']"
                + (f"; {model.name} has no joint '{unknown[0]}'" if unknown else "")
            )
        joints = [name for name in model.joint_names if name not in self.unlocked]
        return (*(name for name in locked if name == BASE), *joints)

    def start(self, robot: RobotSettings, posture: str = "") -> RobotState:
        """Configuration and velocity at the start, in a posture or the usual one."""
        name, model = posture or self.posture, robot.model
        given = self.walking, self.slope, self.height, robot.place
        return start_posture(model, name, *given), np.zeros(model.nv)


def _robots(
    given: Parameters, robots: Sequence[NamedRobot], period: float, servos: bool
) -> tuple[RobotSettings, ...]:
    """What belongs to each robot; states are a period apart [s]."""
    model = robots[0].model
    sensors = NodeSensors.declare(given, [robot.model for robot in robots], period)
    followed = _trajectories(given, model, servos)
    made = []
    for robot, own in zip(robots, sensors, strict=True):
        place: tuple[float, ...] = ()
        if robot.name:
            key = f"robot.{robot.name}.place"
            place = given.numbers(key, "at the start: x, y [m], heading [rad]", 3)
        # Parameters of trajectories have the joints of one model.
        rules = followed if robot.model is model else None
        made.append(RobotSettings(robot.name, robot.model, place, own, rules))
    return tuple(made)


def _touching(given: Parameters, robot: RobotSetup) -> dict[str, Any]:
    """Contacts of the robot, where its scene does not give them."""
    touching: dict[str, Any] = {
        "whole_body": given.flag(
            "whole_body", robot.whole_body, "all links touch, not the feet alone"
        )
    }
    geometry = given.choice(
        "contact_geometry", POINTS, "how the feet touch", GEOMETRIES
    )
    if geometry != POINTS:
        touching["contact_geometry"] = geometry
    if not given.flag(
        "self_collision", True, "links touch each other (event_driven: with whole_body)"
    ):
        touching["self_collision"] = False
    gravity = declare_gravity(given)
    if gravity:
        touching["gravity"] = gravity
    contacts = given.texts("contacts", "tags that may touch; empty: the model's")
    if contacts:
        touching["contacts"] = contacts
    return touching


def _trajectories(
    given: Parameters, model: Model, servos: bool
) -> TrajectorySettings | None:
    """Rules for trajectories, within the limits of the model's joints."""
    serves = given.flag(
        "trajectories", True, "with servos: serves follow_joint_trajectory"
    )
    if not (serves and servos):
        return None
    speeds = np.where(model.velocity_limits > 0.0, model.velocity_limits, np.inf)
    ends = zip(model.lower_limits, model.upper_limits, speeds, strict=True)
    limits = [JointLimits(*(float(x) for x in row)) for row in ends]
    named = dict(zip(model.joint_names, limits, strict=True))
    return TrajectorySettings.declare(given, named)
