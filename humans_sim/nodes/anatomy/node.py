# SPDX-License-Identifier: Apache-2.0
"""Node ``anatomy``: a wrist that moves, its contacts and its ligaments.

The motion is computed first (slower than real time; ``/diagnostics`` say how far it is,
the bones stand at rest) or read from a file, then played in a loop in real time.

Gives ``/tf`` (wrist -> bones), ``bones`` and ``wrist_markers`` (MarkerArray),
``ligaments`` and ``bone_turns`` (JointState), ``bone_contacts`` (humans_msgs/
ContactStates) and ``/diagnostics``. Services: ``~/pause`` (SetBool), ``~/restart``
(Trigger), ``~/make_ball_model`` (Trigger; of what the parameters ``ball_model.*`` say).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from humans_msgs.msg import ContactStates
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from humans_sim.anatomy import HandMotion, StepNumbers, WristRun
from humans_sim.anatomy.wrist.hand_motion import AXES
from humans_sim.applications.wrist_scenarios import METHODS, SPACING, WristSetup
from humans_sim.nodes.anatomy.ball_models import BallModelService
from humans_sim.nodes.anatomy.messages import SampleMessages, bone_markers
from humans_sim.nodes.anatomy.worker import MotionWorker
from humans_sim.nodes.common.diagnostic_status import StatusTopic
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.process_node import ProcessNode
from humans_sim.nodes.common.qos import latched
from humans_sim.observation.markers.playback import FACTORS, Playback

_DEPTH = 10
_BEAT = 1.0
"""Wall time between diagnostics [s]."""


@dataclass(frozen=True)
class _Samples:
    """Times of a run, for its playback."""

    times: np.ndarray

    def __len__(self) -> int:
        return len(self.times)


class Anatomy(ProcessNode):
    """Computes a motion of a wrist, and plays it."""

    def __init__(self, name: str = "anatomy", **options: Any) -> None:
        """Read the parameters; what is wrong is known before anything is computed."""
        super().__init__(name, **options)
        given = Parameters(self)
        setup = self._setup(given)
        file = given.path("file", "a stored motion .npz; empty: it is computed")
        self._factor = given.number("rate", 1.0, "speed over real time", *FACTORS)
        self._loop = given.flag("loop", True, "begin again at the end")
        period = 1.0 / given.number("publish_rate", 30.0, "samples [Hz]", 1.0, 200.0)
        self._frame = given.text("frame_id", "wrist", "frame of the wrist")
        self._prefix = given.text("frame_prefix", "", "before names of bones' frames")
        self._models = BallModelService(self, given)
        self._status = StatusTopic(self, "wrist", setup.bones)
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        self._bones = self.create_publisher(MarkerArray, "bones", latched())
        self._markers = self.create_publisher(MarkerArray, "wrist_markers", _DEPTH)
        self._ligaments = self.create_publisher(JointState, "ligaments", _DEPTH)
        self._turns = self.create_publisher(JointState, "bone_turns", _DEPTH)
        self._contacts = self.create_publisher(ContactStates, "bone_contacts", _DEPTH)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/restart", self._on_restart)
        self._messages: SampleMessages | None = None
        self._playback: Playback | None = None
        self._row, self._paused = 0, False
        self._worker = MotionWorker(setup, file)
        self.create_timer(period, self._tick)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_BEAT, self._diagnose, clock=steady)
        self.get_logger().info(f"{setup.motion.kind} of '{setup.bones}'")

    def _setup(self, given: Parameters) -> WristSetup:
        kinds, usual = tuple(AXES), HandMotion()
        motion = HandMotion(
            given.choice("motion", usual.kind, "of the hand", kinds),
            math.radians(given.number("angle", 30.0, "of the hand [deg]", 0.0, 90.0)),
            given.number("duration", usual.duration, "of the motion [s]", 0.01, 60.0),
            given.number("settling", usual.settling, "before it [s]", 0.0, 10.0),
            given.number("holding", usual.holding, "after it [s]", 0.0, 10.0),
        )
        law = StepNumbers()
        return WristSetup(
            given.text("wrist", "wrist", "the synthetic one, or a YAML file"),
            motion,
            given.number("step", 0.02, "of the simulation [s]", 1e-4, 0.05),
            given.number("resolution", 1e-3, "edge of a voxel [m]", *SPACING),
            StepNumbers(
                given.number("friction", law.friction, "of cartilage", 0.0, 2.0),
                given.number("viscosity", law.viscosity, "of bones [1/s]", 0.0, 1e3),
            ),
            given.texts("cut", "ligaments that are cut"),
            given.choice("method", "complementarity", "of contact", tuple(METHODS)),
        )

    @property
    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _tick(self) -> None:
        self._models.answer()
        worker = self._worker
        if self._messages is None and worker.rest is not None:
            self._begin(worker.rest)
        if self._playback is None and worker.run is not None:
            self._begin(worker.run)
            self._playback = Playback(_Samples(worker.run.t), self._factor, self._loop)
            self._playback.restart(self._now)
            self._playback.pause(self._paused, self._now)
        if self._playback is not None:
            for due in self._playback.due(self._now):
                self._row = due.row  # those between two publications are passed over
        self._publish()

    def _begin(self, run: WristRun) -> None:
        if self._messages is None:
            self._bones.publish(bone_markers(run.wrist, self._prefix))
        self._messages, self._row = SampleMessages(run, self._frame, self._prefix), 0

    def _publish(self) -> None:
        messages, k = self._messages, self._row
        if messages is None:
            return
        stamp, contacts = self.get_clock().now().to_msg(), messages.contacts(k)
        self._tf.publish(TFMessage(transforms=messages.transforms(stamp, k)))
        self._ligaments.publish(messages.ligaments(stamp, k))
        self._turns.publish(messages.turns(stamp, k))
        self._contacts.publish(messages.contact_states(stamp, k, contacts))
        self._markers.publish(messages.markers(k, contacts))

    def _on_pause(self, request: Any, response: Any) -> Any:
        self._paused = bool(request.data)
        if self._playback is not None:
            self._playback.pause(self._paused, self._now)
        response.success, response.message = True, self._state
        return response

    def _on_restart(self, _: Any, response: Any) -> Any:
        response.success = self._playback is not None
        if self._playback is not None:
            self._playback.restart(self._now)
        response.message = self._state
        return response

    @property
    def _state(self) -> str:
        if self._playback is not None:
            return self._playback.state
        return f"computing, {self._worker.share:.0%}"

    def _diagnose(self) -> None:
        error, run = self._worker.error, self._worker.run
        values: dict[str, str] = {}
        warning = ""
        if run is not None:
            k = self._row
            checked = run.check()
            failed = [finding.name for finding in checked.failed]
            warning = f"not right: {', '.join(failed)}" if failed else ""
            values = {
                "time [s]": f"{run.t[k]:.9g}",
                "hand [deg]": f"{math.degrees(run.angles[k]):.6g}",
                "overlap [m]": f"{max(float(run.depths[k]), 0.0):.6g}",
                "balls in contact": f"{float(run.touching[k].max()):.6g}",
                "deep contacts": f"{float(run.deep[k]):.6g}",
                "friction over normal force": f"{float(run.friction[k]):.6g}",
                "greatest tension [N]": f"{run.tensions[k].max(initial=0.0):.6g}",
                "unsettled steps": str(run.unsettled),
                "computed in [s]": f"{run.wall:.3g}",
                **{finding.name: finding.word for finding in checked.findings},
            }
        self._status.publish(self._state, str(error) if error else "", warning, values)

    def close(self) -> None:
        """End the computation."""
        self._worker.cancel()
