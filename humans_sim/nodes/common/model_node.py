# SPDX-License-Identifier: Apache-2.0
"""Base of the nodes: their model, life cycle, timers and quality of service.

A node may have the life cycle of ROS 2 (configured, activated, and back); a call after
some wall time may be set anew by a busy node.

Publishers and subscriptions are reliable and volatile, and keep their last messages;
what is published once, and maps, are transient local. Reliable subscriptions depart
from REP-2003, which wants best effort for sensor data: in lock-step a message that is
lost would stop the graph. Each topic can be given other policies by the parameters
``qos_overrides.<topic>.publisher.<policy>`` and ``.subscription.<policy>``.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar
from weakref import WeakSet

from rcl_interfaces.msg import SetParametersResult
from rclpy.action import ActionClient, ActionServer
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.lifecycle import LifecycleNodeMixin, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter_service import ParameterService
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.models import load_model
from humans_sim.nodes.common.diagnostics import Diagnostics
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.observation.posture.subject import load_subject

POLICIES = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
)
"""What can be overridden."""


def latched() -> QoSProfile:
    """For maps, and for what is published once: late listeners receive the last one."""
    return QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def own_profile(qos: QoSProfile | int) -> QoSProfile:
    """A profile that overrides may change: rclpy writes them into what it is given."""
    return QoSProfile(depth=qos) if isinstance(qos, int) else copy.copy(qos)


def overriding() -> QoSOverridingOptions:
    """Let parameters override the policies of a topic."""
    return QoSOverridingOptions(POLICIES)


@contextmanager
def reported_overrides(topic: str) -> Iterator[None]:
    """Overrides that cannot be are reported in plain words, as a ParameterError."""
    try:
        yield
    except InvalidParameterTypeException as error:
        raise ParameterError(f"quality of service of {topic}: {error}") from None
    except RuntimeError as error:
        if "QoS override" not in str(error):
            raise
        raise ParameterError(f"quality of service of {topic}: {error}") from None


class ProcessNode(Node):
    """A node that a :class:`~humans_sim.nodes.common.process.NodeProcess` can run.

    The end comes in three parts: :meth:`make_safe`, :meth:`close`, ``destroy_node``.
    What must not be lost belongs into the first two: the last one talks with the
    middleware, and is cut short where that hangs.
    """

    blocks = False
    """Whether callbacks may take long: in a composed graph it has its own thread."""

    living: ClassVar[WeakSet[ProcessNode]] = WeakSet()
    """The nodes of this process, also those that are not complete yet."""

    def __init__(self, name: str, **options: Any) -> None:
        ProcessNode.living.add(self)
        self._complete = False
        self._starting: Diagnostics | None = None
        super().__init__(name, start_parameter_services=False, **options)
        self._complete = True

    def report_start(self, state: str) -> None:
        """Say on ``/diagnostics`` why the node does not answer yet."""
        if self._complete and self._starting is None:
            self._starting = Diagnostics(self, "start", "")
        if self._starting is not None:
            self._starting.publish(state, "", "", {})

    def answer_parameters(self) -> None:
        """Serve parameters, as the node begins to spin.

        Before, requests would wait for as long as it takes to make the nodes.
        """
        self._complete = False
        self._parameter_service = ParameterService(self)
        self._complete = True
        if self._starting is not None:
            self._starting.publish("started", "", "", {})

    def create_publisher(
        self, msg_type: Any, topic: str, qos_profile: QoSProfile | int, **options: Any
    ) -> Any:
        """As rclpy's, with parameters that override the quality of service."""
        if self._complete:  # before, rclpy makes topics of its own
            options.setdefault("qos_overriding_options", overriding())
        with reported_overrides(topic):
            return super().create_publisher(
                msg_type, topic, own_profile(qos_profile), **options
            )

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Any,
        qos_profile: QoSProfile | int,
        **options: Any,
    ) -> Any:
        """As rclpy's, with parameters that override the quality of service."""
        if self._complete:
            options.setdefault("qos_overriding_options", overriding())
        with reported_overrides(topic):
            return super().create_subscription(
                msg_type, topic, callback, own_profile(qos_profile), **options
            )

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Any, **options: Any
    ) -> Any:
        """As rclpy's; its services of parameters do not end the node any more."""
        if not self._complete:
            callback = partial(self._answer_parameters, callback)
        return super().create_service(srv_type, srv_name, callback, **options)

    def _answer_parameters(self, callback: Any, request: Any, response: Any) -> Any:
        """Refuse what rclpy raises at, for example a type that does not exist."""
        try:
            return callback(request, response)
        except (TypeError, ValueError) as error:
            self.get_logger().warning(f"a request of parameters is refused: {error}")
            refusal = SetParametersResult(successful=False, reason=str(error))
            if hasattr(response, "results"):
                missing = len(request.parameters) - len(response.results)
                response.results = [*response.results, *[refusal] * missing]
            elif hasattr(response, "result") and hasattr(request, "parameters"):
                response.result = refusal
            return response

    def every(
        self, seconds: float, callback: Callable[[], None], **options: Any
    ) -> Any:
        """A timer of rclpy's by the wall clock, whatever clock the node lives on."""
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        return self.create_timer(seconds, callback, clock=steady, **options)

    def make_safe(self) -> None:
        """Stop what moves: called first at the end, while callbacks may still run."""

    def close(self) -> None:
        """Free what the node holds beside its topics, and write what it keeps."""

    def destroy_node(self) -> None:
        """Destroy the node with its actions, which rclpy leaves to others."""
        for waitable in list(self.waitables):
            if isinstance(waitable, ActionClient | ActionServer):
                waitable.destroy()
        super().destroy_node()


SHARED_FRAMES = frozenset({"earth", "map", "world"})
"""Frames of REP-105 that are not one robot's: they have no prefix."""


class ModelNode(ProcessNode):
    """A node that works on one model, given by the parameter ``model``.

    The parameter ``subject``, the file of a calibrated person, goes over it. The
    parameter ``frame_prefix`` stands before the names of all frames of the robot, so
    that several share one tree of TF.

    Attributes:
        subject: the person, or None.
        frame_prefix: before names of frames.
    """

    usual_model = "khr1"
    """The model where no parameter names one."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        model = given.text("model", self.usual_model, "name, or file of a URDF")
        subject = given.text(
            "subject", "", "file of a calibrated person, in place of the model"
        )
        self.subject = load_subject(subject) if subject else None
        self.model = (
            load_model(model, xacro=False)  # a parameter may come from anyone
            if self.subject is None
            else self.subject.model()
        )
        self.frame_prefix = given.text(
            "frame_prefix", "", "before names of the robot's frames, as 'robot1/'"
        )

    def framed(self, frame: str) -> str:
        """Name in messages of a frame of the robot; shared ones and none stay."""
        shared = not frame or frame in SHARED_FRAMES
        return frame if shared else self.frame_prefix + frame

    def unframed(self, frame: str) -> str:
        """The robot's own name of a frame of a message."""
        return frame.removeprefix(self.frame_prefix)


def node_class(kind: str) -> Callable[..., ModelNode]:
    """The class of a node by its name: ``joint_demo`` -> ``JointDemo``.

    It is in the module of that name in ``humans_sim.nodes``, or in the module ``node``
    of the folder of that name.
    """
    try:
        module = importlib.import_module(f"humans_sim.nodes.{kind}")
        if hasattr(module, "__path__"):
            module = importlib.import_module(f"humans_sim.nodes.{kind}.node")
        node: Any = getattr(module, "".join(word.title() for word in kind.split("_")))
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and kind not in str(error.name):
            raise
        raise ParameterError(f"there is no node type '{kind}'") from None
    return node


_AGAIN = 2.0
"""Wall time between two tries to start by itself [s]."""


class LifecycleModelNode(LifecycleNodeMixin, ModelNode):
    """A model node whose stages are changed by services, or by itself.

    Children say in :meth:`configure` and so on what a stage needs; what they raise ends
    the transition as a failure in plain words, and the node stays as it was.

    Attributes:
        stage: unconfigured, inactive, active or finalized.
        failure: why the last transition failed; empty where it did not.
    """

    def __init__(self, name: str, **options: Any) -> None:
        ModelNode.__init__(self, name, **options)
        LifecycleNodeMixin.__init__(self)
        self.stage, self.failure = "unconfigured", ""
        self._starts: Any = None

    def configure(self) -> None:
        """Get ready."""

    def activate(self) -> None:
        """Begin to work."""

    def deactivate(self) -> None:
        """Work no more."""

    def clean_up(self) -> None:
        """Free what :meth:`configure` took."""

    def start_by_itself(self) -> None:
        """Configure and activate, again and again until it works once."""
        self._starts = self.every(_AGAIN, self._start)

        def start_first() -> None:
            first.cancel()
            self._start()

        first = self.every(0.01, start_first)  # at once, but in the node's thread

    def _start(self) -> None:
        if self.stage == "unconfigured":
            self.trigger_configure()
        if self.stage == "inactive":
            self.trigger_activate()
        if self.stage in ("active", "finalized"):
            self._starts.cancel()

    def _go(
        self, work: Callable[[], None], what: str, stage: str
    ) -> TransitionCallbackReturn:
        try:
            work()
        except HumansError as error:
            if str(error) != self.failure:
                self.get_logger().error(f"{what} failed: {error}")
            self.failure = str(error)
            return TransitionCallbackReturn.FAILURE
        self.stage, self.failure = stage, ""
        self.get_logger().info(f"{what}: done, it is {stage}")
        return TransitionCallbackReturn.SUCCESS

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Transition to inactive."""
        return self._go(self.configure, "configure", "inactive")

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Transition to active."""
        return self._go(self.activate, "activate", "active")

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Transition to inactive."""
        return self._go(self.deactivate, "deactivate", "inactive")

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Transition to unconfigured."""
        return self._go(self.clean_up, "clean up", "unconfigured")

    def on_shutdown(self, state: Any) -> TransitionCallbackReturn:
        """Transition to finalized."""
        return self._go(self.clean_up, "shut down", "finalized")


_AT_ONCE = 1e-4
"""Wall time below which a timer is not worth it [s]."""


class Alarm:
    """Calls a function of a node once, in the node's thread.

    rclpy's executor that is led by events dispatches a timer twice that is reset in its
    own callback and is due at once: the queue of events grows with each call, and a
    request waits as long as the node has been busy. So what is due at once is a task.

    Args:
        node: in whose thread the function is called.
    """

    def __init__(self, node: ProcessNode, callback: Callable[[], None]) -> None:
        self._node, self._callback = node, callback
        self._timer = node.every(1.0, self._ring, autostart=False)
        self._due = self._posted = False
        self._error: Exception | None = None

    def cancel(self) -> None:
        """Call nothing."""
        self._timer.cancel()
        self._due = False

    def set(self, wait: float) -> None:
        """Call after some wall time [s], in place of any time before.

        None or less: as soon as others had their turn.
        """
        self.cancel()
        if wait >= _AT_ONCE:
            self._start_timer(int(wait * 1e9))
            return
        self._due = True
        if not self._posted:
            self._posted = True
            self._node.executor.create_task(self._on_task)

    def _start_timer(self, nanoseconds: int) -> None:
        self._timer.timer_period_ns = nanoseconds
        self._timer.reset()

    def _on_task(self) -> None:
        self._posted = False
        if not self._due:
            return
        self._due = False
        try:
            self._callback()
        except Exception as error:  # a task that raises ends the process without a word
            self._error = error
            self._start_timer(1)

    def _ring(self) -> None:
        self._timer.cancel()
        if self._error is not None:
            raise self._error
        self._callback()
