# SPDX-License-Identifier: Apache-2.0
"""Node ``viewer``: a web page that shows the model as the topics say it is.

Takes ``joint_states`` and odometry; beside a simulation ``ground_contacts``, ``scene``,
``/diagnostics`` and, of a ground that gives way, ``ground/heights`` and
``ground/depth``; beside a walk ``walk_status``, ``footsteps`` and ``odom``, without
whose drift planned steps are drawn; beside a
reconstruction ``reconstruction_markers``. Where somebody offers the service
``set_simulation_state``, the page has controls: they call it, ``reset`` and ``push``,
and set the simulation's ``real_time_factor``; where there is a walk, they publish
``cmd_vel`` and call ``get_up``.
Where somebody offers ``stop``, as the bridge to a real robot does, the page can call
that and ``energize``, and its walk must be armed. Without ``commands`` it shows and
commands nothing.

With ``robots`` it shows robots of several namespaces in one scene; what it shows and
commands besides is of the first.

The page's buttons live in other threads. What they ask for is put into a queue, and
done by the thread of the node at the next picture.
"""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Twist, TwistStamped
from humans_msgs.msg import ContactStates, WalkStatus
from humans_msgs.srv import Push, Reset
from nav_msgs.msg import OccupancyGrid, Odometry
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import Image
from simulation_interfaces.msg import SimulationState
from simulation_interfaces.srv import SetSimulationState
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.contact.geometry.ground import Ground
from humans_sim.control.walking import Velocity, WalkSettings
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.kondo.motion.pose_servo import can_get_up
from humans_sim.models.description import BASE_LINK
from humans_sim.nodes.common import marker_messages
from humans_sim.nodes.common.conversions import (
    base_of,
    nanoseconds_of,
    vector_of,
    velocity_of,
)
from humans_sim.nodes.common.diagnostics import is_beside, warn_refused
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.scene_messages import footprints_in, seen_bodies_of
from humans_sim.nodes.common.services import Requests
from humans_sim.nodes.common.start_posture import walk_settings
from humans_sim.nodes.common.state_listener import ODOMETRY, StateListener
from humans_sim.view.browser.bodies_page import BodyLayer
from humans_sim.view.browser.marker_layer import MarkerLayer, SeenMarkers
from humans_sim.view.browser.page_server import warning_of
from humans_sim.view.browser.panel import Actions, Panel
from humans_sim.view.browser.robot_panel import RobotActions, RobotPanel, SeenRobot
from humans_sim.view.browser.scene import DEFAULT_PORT
from humans_sim.view.browser.touches import Touches
from humans_sim.view.browser.walk_layer import PlannedStep
from humans_sim.view.browser.walk_page import Seen, WalkPage

PHASES = {
    WalkStatus.IDLE: "idle",
    WalkStatus.STANDING: "standing",
    WalkStatus.STARTING: "starting",
    WalkStatus.WALKING: "walking",
    WalkStatus.STOPPING: "stopping",
    WalkStatus.FALLEN: "fallen",
}
_SIMULATION = ": simulation"
"""How the name of a simulation's status on ``/diagnostics`` ends."""

_ROBOT = ": robot"
"""How the name of a real robot's status ends."""
_LONGEST = 300
"""Characters of a text that is shown."""
_OUTLINE = 4
"""Least points of an outline that closes where it began."""
_MOST = 50_000
"""Points that are drawn of a message."""


def _check_count(count: int) -> None:
    if count > _MOST:
        raise ConfigurationError(f"{count} points are more than {_MOST}")


def touches_of(message: ContactStates) -> Touches:
    """Contacts of a message; refused where a number is not finite."""
    points = message.points
    _check_count(len(points))

    def vectors(field: str) -> np.ndarray:
        rows = [vector_of(getattr(point, field)) for point in points]
        return np.array(rows).reshape(-1, 3)

    gap = np.array([point.gap for point in points], float)
    if not np.isfinite(gap).all():
        raise ConfigurationError("a gap is not finite")
    return Touches(
        tuple(point.name for point in points),
        tuple(point.link_name for point in points),
        tuple(point.surface for point in points),
        gap,
        vectors("position"),
        vectors("normal"),
        vectors("force"),
    )


def planned_of(message: MarkerArray) -> tuple[PlannedStep, ...]:
    """Outlines of planned steps: the line strips of a message."""
    _check_count(sum(1 + len(marker.points) for marker in message.markers))
    steps = []
    for marker in message.markers:
        if marker.action != Marker.ADD or marker.type != Marker.LINE_STRIP:
            continue
        if len(marker.points) < _OUTLINE:
            continue
        corners = np.array([vector_of(point) for point in marker.points])
        colour = (marker.color.r, marker.color.g, marker.color.b)
        if not np.isfinite(colour).all():
            raise ConfigurationError("a colour is not finite")
        red, green, blue = (round(255 * min(max(c, 0.0), 1.0)) for c in colour)
        # A strip closes where it began.
        steps.append(PlannedStep(corners[:-1].reshape(-1, 3), (red, green, blue)))
    return tuple(steps)


def seen_markers_of(message: MarkerArray) -> SeenMarkers:
    """Optical markers beside a reconstructed body, of their drawings."""
    _check_count(sum(1 + len(marker.points) for marker in message.markers))
    positions = {
        marker.ns: np.array([vector_of(p) for p in marker.points]).reshape(-1, 3)
        for marker in message.markers
        if marker.action == Marker.ADD
    }

    def points(kind: str) -> np.ndarray:
        return positions.get(kind, np.zeros((0, 3)))

    def lines(kind: str) -> np.ndarray:
        ends = points(kind)
        if len(ends) % 2:
            raise ConfigurationError(f"a line of '{kind}' has one end")
        return ends.reshape(-1, 2, 3)

    return SeenMarkers(
        measured=points(marker_messages.MEASURED),
        rejected=points(marker_messages.REJECTED),
        unknown=points(marker_messages.UNKNOWN),
        occluded=points(marker_messages.OCCLUDED),
        residuals=lines(marker_messages.RESIDUALS),
        mistakes=lines(marker_messages.MISTAKES),
    )


def seen_robot(statuses: Iterable[DiagnosticStatus]) -> SeenRobot | None:
    """How a real robot is, by ``/diagnostics``; None: of something else."""
    for status in statuses:
        if status.name.endswith(_ROBOT):
            values = {item.key: item.value[:_LONGEST] for item in status.values}
            return SeenRobot(
                *(values.get(key, "") for key in ("state", "reason", "energize"))
            )
    return None


def simulation_state(statuses: Iterable[DiagnosticStatus]) -> tuple[str, str] | None:
    """State of a simulation, and what failed, by ``/diagnostics``; None: of others."""
    for status in statuses:
        if status.name.endswith(_SIMULATION):
            values = {item.key: item.value for item in status.values}
            failed = status.level == status.ERROR
            return values.get("state", ""), status.message if failed else ""
    return None


PUSH_TIME = 0.05
"""How long a push lasts [s]."""
_NOTE_TIME = 6.0
"""How long a note is shown [s]."""
_STATES_KEPT = 50
"""Configurations that wait for the markers of their time."""
_MARKER_TIME = 1.0
"""How long markers are shown without new ones [s]."""
_REPEAT_PERIOD = 0.2
"""Between two of the same velocities for a real robot [s]."""
_SET_STATE, _RESET, _PUSH, _STOP = "set_simulation_state", "reset", "push", "stop"
_GET_UP, _ENERGIZE = "get_up", "energize"
_PAUSED = "paused"
_LONGEST_MESSAGE = 300
"""Characters of a message that the page shows."""


class Viewer(StateListener):
    """Serves the page and keeps it up to date."""

    blocks = hears_several = True

    def __init__(self, name: str = "viewer", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        host = given.text("host", "127.0.0.1", "address to listen on")
        port = given.count("port", DEFAULT_PORT, "first port to try; 0: any free one")
        rate = given.number("rate", 30.0, "of the page [Hz]", high=120.0)
        if not rate > 0.0:
            raise ParameterError(f"rate must be above 0 Hz, not {rate}")
        slope = given.number("slope", 0.0, "the floor climbs along x [deg]", -80, 80)
        self._commands = given.flag("commands", True, "whether the page may command")
        simulator = given.text("simulator", "dynamics", "node that simulates")
        self._walking = given.path("walking", "how it walks; empty: the model's own")
        self._stamped = given.flag("stamped", False, "cmd_vel is a TwistStamped")
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._changed, self._time = False, 0.0
        self._robot = self.heard[0].robot
        self._estimate: Odometry | None = None
        self._state: Seen | None = None
        self._contacts: ContactStates | None = None
        self._plan: MarkerArray | None = None
        self._walk: WalkStatus | None = None
        self._bodies: MarkerArray | None = None
        self._heights: Image | None = None
        self._ground_place: OccupancyGrid | None = None
        self._markers: MarkerArray | None = None
        self._markers_at = -math.inf
        self._states: dict[int, np.ndarray] = {}
        self._velocity, self._sent_at = Velocity(), -math.inf
        self._paused, self._failure = False, ""
        self._note, self._note_end = "", -math.inf
        self._speed_service = f"{simulator}/set_parameters"
        self._requests = Requests(self, self._show_note)
        self._make_topics()
        ground = Ground(solids=Ground.slope(math.radians(slope)).solids)
        self._page = WalkPage(self._robot.model, host, port, ground)
        self._further = [
            (heard, self._page.scene.beside(heard.robot.name, heard.robot.model))
            for heard in self.heard[1:]
        ]
        if not self._commands:
            self._page.add_watch_panel()
        self._marker_layer = MarkerLayer(self._page.scene)
        self._body_layer = BodyLayer(self._page.scene)
        # The page is drawn on the wall clock, whatever clock the robot lives on.
        self.every(1.0 / rate, self._draw)
        names = ", ".join(heard.robot.model.name for heard in self.heard)
        self.get_logger().info(f"{names} is shown at {self._page.url}")
        if warning := warning_of(host):
            self.get_logger().warning(warning)

    def _make_topics(self) -> None:
        listen, topic = self.create_subscription, self._robot.topic
        listen(ContactStates, topic("ground_contacts"), self._keep("_contacts"), 10)
        listen(WalkStatus, topic("walk_status"), self._on_walk, 10)
        listen(MarkerArray, topic("footsteps"), self._keep("_plan"), 10)
        if self.odometry_topic != ODOMETRY:
            listen(Odometry, topic(ODOMETRY), self._keep("_estimate"), 10)
        listen(MarkerArray, "scene", self._keep("_bodies"), 10)
        listen(MarkerArray, "reconstruction_markers", self._on_markers, 10)
        listen(Image, "ground/heights", self._keep("_heights"), 2)
        listen(OccupancyGrid, "ground/depth", self._keep("_ground_place"), 2)
        listen(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        if not self._commands:
            return
        kind = TwistStamped if self._stamped else Twist
        self._velocities = self.create_publisher(kind, topic("cmd_vel"), 10)
        self._requests.add(_SET_STATE, SetSimulationState)
        self._requests.add(_RESET, Reset, topic(_RESET))
        self._requests.add(_PUSH, Push, topic(_PUSH))
        self._requests.add(_STOP, Trigger)
        self._requests.add(_GET_UP, Trigger, topic(_GET_UP))
        self._requests.add(_ENERGIZE, Trigger)
        self._requests.add(self._speed_service, SetParameters)

    # -- what comes in ---------------------------------------------------------------

    def on_state(self, stamp: Any) -> None:
        """Note that there is something new to draw."""
        time_of_state = nanoseconds_of(stamp)
        self._changed, self._time = True, time_of_state * 1e-9
        if self._markers is not None:
            self._states[time_of_state] = self.configuration()
            while len(self._states) > _STATES_KEPT:
                del self._states[next(iter(self._states))]

    def _keep(self, name: str) -> Callable[[Any], None]:
        """A callback that keeps the last message until it is drawn."""
        return lambda message: setattr(self, name, message)

    def _on_markers(self, message: MarkerArray) -> None:
        self._markers, self._markers_at = message, time.monotonic()

    def _on_walk(self, message: WalkStatus) -> None:
        last, self._walk = self._walk, message
        if last is None:
            try:
                twist = velocity_of(message.commanded_velocity)
            except ConfigurationError as error:
                self._walk = None
                warn_refused(self, "walk_status", error)
                return
            self._velocity = Velocity(*twist[[0, 1, 5]].tolist())
        elif isinstance(self._page.panel, Panel) and nanoseconds_of(
            message.header.stamp
        ) < nanoseconds_of(last.header.stamp):
            # The simulation was reset: the walk resumes as it was commanded. A real
            # robot never sets off by itself.
            self._send_velocity(self._velocity)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        own = [item for item in message.status if is_beside(self, item.name)]
        state = simulation_state(own)
        if state is not None:
            self._paused, self._failure = state[0] == _PAUSED, state[1]
        robot = seen_robot(own)
        if robot is not None and isinstance(self._page.panel, RobotPanel):
            self._page.panel.show_robot(robot)

    # -- the page --------------------------------------------------------------------

    def _draw(self) -> None:
        while not self._orders.empty():
            self._orders.get()()
        self._requests.look()
        if self._page.panel is None:
            self._add_controls()
        panel = self._page.panel
        if isinstance(panel, RobotPanel):
            panel.release_silent()
            # Say again how a robot is led: one that no longer hears it can stop.
            again = time.monotonic() > self._sent_at + _REPEAT_PERIOD
            if panel.led is not None and again:
                self._send_velocity(panel.led)
        if panel is not None and self._walk is not None and not panel.walking:
            panel.show_walk()
            if isinstance(panel, Panel):
                panel.set_velocity(self._velocity)
        if self._markers is not None and self._draw_markers(self._markers):
            self._changed = False
        if self._changed:
            self._changed = False
            touches = self._read("ground_contacts", self._contacts, touches_of)
            q = self.configuration()
            planned = self._planned(q)
            self._state = Seen(time=self._time, q=q, touches=touches, planned=planned)
            self._draw_surroundings()
            for heard, scene in self._further:
                scene.show(heard.configuration())
        if self._state is not None:
            self._page.show(self._with_status(self._state))

    def _planned(self, q: np.ndarray) -> tuple[PlannedStep, ...]:
        """Planned steps; where they are in the frame of an estimate, without its drift.

        The estimate's base is put where the base is shown.
        """
        estimate = self._estimate
        if estimate is None or estimate.header.frame_id == self.heard[0].frame:
            return self._read("footsteps", self._plan, planned_of) or ()

        def read(message: MarkerArray) -> tuple[PlannedStep, ...]:
            seen = pin.XYZQUATToSE3(base_of(estimate.pose.pose))
            drift = pin.XYZQUATToSE3(q[:7]) * seen.inverse()
            return tuple(step.moved(drift) for step in planned_of(message))

        frame = estimate.header.frame_id
        return self._read("footsteps", self._plan, read, frame) or ()

    def _read(
        self, topic: str, message: Any, read: Callable[[Any], Any], frame: str = ""
    ) -> Any:
        """What a message says; None where it is of another frame, or refused.

        The frame is that of the base unless given.
        """
        if message is None or not getattr(message, "markers", True):
            return None
        first = message.markers[0] if hasattr(message, "markers") else message
        if first.header.frame_id != (frame or self.heard[0].frame):
            return None
        try:
            return read(message)
        except (ConfigurationError, ParameterError) as error:
            warn_refused(self, topic, error)
            return None

    def _draw_surroundings(self) -> None:
        """Draw new bodies around the robot, and new ground that gives way."""
        message, self._bodies = self._bodies, None
        bodies = self._read("scene", message, seen_bodies_of)
        if bodies is not None:
            with self._page.scene.server.atomic():
                self._body_layer.show(bodies)
        place = self._ground_place
        if place is not None:
            heights, self._heights = self._heights, None
            show = self._page.scene.show_ground
            self._read(
                "ground/heights", heights, lambda m: show(footprints_in(m, place))
            )

    def _add_controls(self) -> None:
        """Add the controls of what is there: where a robot is, it must be armed."""
        if self._requests.ready(_STOP):
            actions = RobotActions(
                walk=self._later(self._walk_with),
                stop=self._later(self._stop_robot),
                energize=self._later(self._energize_robot),
            )
            self._page.add_robot_panel(actions, self._settings())
        elif self._requests.ready(_SET_STATE):
            self._page.add_panel(self._actions(), self._settings(), walking=False)

    def _draw_markers(self, message: MarkerArray) -> bool:
        """Draw markers with the body of their time: a later one would be elsewhere.

        Returns whether the body waits for its markers.
        """
        if time.monotonic() > self._markers_at + _MARKER_TIME:
            self._markers = None
            self._marker_layer.hide()
            return False
        header = message.markers[0].header if message.markers else None
        if header is None or header.frame_id != self.heard[0].frame:
            return False
        stamp = nanoseconds_of(header.stamp)
        if stamp not in self._states:
            return True
        try:
            seen = seen_markers_of(message)
        except ConfigurationError as error:
            warn_refused(self, "reconstruction_markers", error)
            return False
        self._state = Seen(time=stamp * 1e-9, q=self._states.pop(stamp))
        with self._page.scene.server.atomic():
            self._marker_layer.show(seen)
        return True

    def _with_status(self, state: Seen) -> Seen:
        walk, message = self._walk, self._failure
        if not message and time.monotonic() < self._note_end:
            message = self._note
        if not message and walk is not None:
            message = walk.message
        fallen = walk is not None and walk.phase == WalkStatus.FALLEN
        return replace(
            state,
            phase=PHASES.get(walk.phase, "") if walk is not None else "",
            steps=walk.steps if walk is not None else 0,
            paused=self._paused,
            message=message[:_LONGEST_MESSAGE],
            failed=bool(self._failure) or fallen,
        )

    def _settings(self) -> WalkSettings | None:
        try:
            return walk_settings(self._robot.model, self._walking)
        except HumansError as error:
            if self._walking is not None:
                self.get_logger().warning(f"no walk is controlled: {error}")
            return None

    def _show_note(self, note: str) -> None:
        self._note, self._note_end = note, time.monotonic() + _NOTE_TIME
        self.get_logger().warning(note)

    # -- what the page asks for ------------------------------------------------------

    def _later(self, order: Callable[..., None]) -> Callable[..., None]:
        """A function for the threads of the page: it leaves an order, no more."""
        return lambda *values: self._orders.put(lambda: order(*values))

    def _actions(self) -> Actions:
        later = self._later

        def get_up() -> None:
            self._requests.call(_GET_UP, Trigger.Request())

        return Actions(
            pause=later(self._pause),
            reset=later(lambda: self._requests.call(_RESET, Reset.Request())),
            push=later(self._push),
            speed=later(self._set_speed),
            walk=later(self._walk_with),
            get_up=later(get_up) if can_get_up(self._robot.model) else None,
        )

    def _pause(self, paused: bool) -> None:
        def done() -> None:
            self._paused = paused

        request = SetSimulationState.Request()
        request.state.state = (
            SimulationState.STATE_PAUSED if paused else SimulationState.STATE_PLAYING
        )
        self._requests.call(_SET_STATE, request, done)

    def _stop_robot(self) -> None:
        self._walk_with(Velocity())
        self._requests.call(
            _STOP, Trigger.Request(), lambda: self._show_note("the robot was stopped")
        )

    def _push(self, impulse: np.ndarray) -> None:
        request = Push.Request()
        request.header.frame_id = self._robot.framed(self, BASE_LINK)
        request.impulse.x, request.impulse.y = (float(x) for x in impulse)
        request.duration = Duration(nanosec=round(PUSH_TIME * 1e9))
        self._requests.call(_PUSH, request)

    def _energize_robot(self) -> None:
        self._requests.call(
            _ENERGIZE,
            Trigger.Request(),
            lambda: self._show_note("the servos hold where they are"),
        )

    def _set_speed(self, factor: float) -> None:
        value = ParameterValue(
            type=ParameterType.PARAMETER_DOUBLE, double_value=float(factor)
        )
        parameter = Parameter(name="real_time_factor", value=value)
        request = SetParameters.Request(parameters=[parameter])
        self._requests.call(self._speed_service, request)

    def _walk_with(self, velocity: Velocity) -> None:
        self._velocity = velocity
        self._send_velocity(velocity)

    def _send_velocity(self, velocity: Velocity) -> None:
        self._sent_at = time.monotonic()
        twist = Twist()
        twist.linear.x, twist.linear.y = float(velocity.vx), float(velocity.vy)
        twist.angular.z = float(velocity.wz)
        if not self._stamped:
            self._velocities.publish(twist)
            return
        message = TwistStamped(twist=twist)
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = self.framed(BASE_LINK)
        self._velocities.publish(message)

    def close(self) -> None:
        """Close the page."""
        self._page.stop()
