# SPDX-License-Identifier: Apache-2.0
"""Node ``reconstruction``: a person's posture from optical markers, live.

Takes ``markers`` (humans_msgs/MarkerFrame). Gives, with the stamp of the markers,
``odom`` (nav_msgs/Odometry), the transform from the frame of the markers to base_link,
``joint_states``, ``reconstruction_quality`` (humans_msgs/ReconstructionQuality),
``reconstruction_markers`` (visualization_msgs/MarkerArray) and ``/diagnostics``. The
action ``reconstruct`` (humans_msgs/Reconstruct) does files, in a thread beside.
"""

from __future__ import annotations

import time
from typing import Any

import pinocchio as pin
from humans_msgs.msg import MarkerFrame, ReconstructionQuality
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.models.description import BASE_LINK
from humans_sim.nodes.common.conversions import (
    joint_state,
    nanoseconds_of,
    odometry,
    transform,
)
from humans_sim.nodes.common.diagnostic_status import gone
from humans_sim.nodes.common.marker_messages import (
    marker_drawings,
    markers_of,
    quality_message,
)
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.refusals import warn_refused
from humans_sim.nodes.reconstruction.action import FileGoals
from humans_sim.nodes.reconstruction.diagnostics import ReconstructionDiagnostics
from humans_sim.nodes.reconstruction.job import FileJob
from humans_sim.observation.markers.marker_set import CANONICAL, load_marker_set
from humans_sim.observation.posture.live import LONGEST_GAP, LiveFrame, LivePostures
from humans_sim.observation.posture.reconstruct import MODES
from humans_sim.observation.posture.settings import SolverSettings

_DEPTH = 100
_WAITING = 10
"""Frames that may wait: where the machine is too slow older ones are missed."""
_BEAT = 1.0
"""Wall time between diagnostics [s]."""
_WORLD, _MARKERS = "world", "markers"


class Reconstruction(ModelNode):
    """Answers frames of markers by postures."""

    usual_model = "human36"

    def __init__(self, name: str = "reconstruction", **options: Any) -> None:
        """Declare everything; the first frame begins."""
        super().__init__(name, **options)
        given = Parameters(self)
        chosen = given.text(
            "marker_set", CANONICAL, "name or path of a set; the subject goes over it"
        )
        self._set = (
            self.subject.marker_set()
            if self.subject is not None
            else load_marker_set(chosen, self.model)
        )
        self._folder = given.request_folder()
        self._correspondence = given.path("correspondence", "file of labels")
        self._cutoff = given.number(
            "cutoff", 0.0, "of the live low-pass filter [Hz]; 0: none", 0.0, 1e4
        )
        self._pipeline = given.path(
            "pipeline", "file of choices about the markers of files; empty: the usual"
        )
        self._settings = SolverSettings(
            outlier=given.number(
                "outlier",
                SolverSettings.outlier,
                "distance at which a marker counts a quarter [m]",
                1e-3,
            )
        )
        gap = given.number(
            "longest_gap", LONGEST_GAP, "a longer silence begins anew [s]", 1e-3
        )
        self._mode = given.choice("mode", MODES[0], "of files", MODES)
        self._places_base = given.flag(
            "publish_tf", True, "transform from the frame of the markers to base_link"
        )
        self._drawing_period = given.number(
            "drawing_period", 0.04, "between two drawings [s]", 0.0
        )
        self._drawn_at, self._number = -1.0, -1
        self._live = LivePostures(
            self.model,
            self._set,
            correspondence=self._correspondence,
            cutoff=self._cutoff,
            settings=self._settings,
            longest_gap=gap,
        )
        self._diagnostics = ReconstructionDiagnostics(self, self.model.name)
        make = self.create_publisher
        self._odometry = make(Odometry, "odom", _DEPTH)
        self._tf = make(TFMessage, "/tf", _DEPTH)
        self._joint_states = make(JointState, "joint_states", _DEPTH)
        self._quality = make(ReconstructionQuality, "reconstruction_quality", _DEPTH)
        self._drawings = make(MarkerArray, "reconstruction_markers", 10)
        self._files = FileGoals(self, self._job, _WORLD)
        self.create_subscription(MarkerFrame, _MARKERS, self._on_markers, _WAITING)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_BEAT, self._diagnose, clock=steady)

    def _on_markers(self, message: MarkerFrame) -> None:
        begun = time.perf_counter()
        try:
            names, positions = markers_of(message)
            t = nanoseconds_of(message.header.stamp) / 1e9
            # A number that goes back is of another trial, or the same once more.
            anew = message.frame_number < self._number
            frame = self._live.push(t, names, positions, anew)
        except HumansError as error:
            self._refuse(error)
            return
        if not frame.begins:
            self._diagnostics.missed += max(message.frame_number - self._number - 1, 0)
        self._number = message.frame_number
        self._diagnostics.heard_at = time.monotonic()
        header = Header(
            stamp=message.header.stamp, frame_id=message.header.frame_id or _WORLD
        )
        self._publish_posture(header, frame)
        self._diagnostics.take(frame, time.perf_counter() - begun)
        self._publish_fit(header, message.frame_number, frame)

    def _publish_posture(self, header: Header, frame: LiveFrame) -> None:
        """Publish the base, then the joints: whoever draws these knows where."""
        stamp, parent = header.stamp, header.frame_id
        self._odometry.publish(odometry(stamp, parent, BASE_LINK, frame.q, frame.v))
        if self._places_base:
            base = pin.XYZQUATToSE3(frame.q[:7])
            moved = transform(stamp, parent, BASE_LINK, base)
            self._tf.publish(TFMessage(transforms=[moved]))
        self._joint_states.publish(
            joint_state(self.model, stamp, frame.q[7:], frame.v[6:])
        )

    def _publish_fit(self, header: Header, number: int, frame: LiveFrame) -> None:
        """Publish how markers are explained, where somebody listens."""
        if self._quality.get_subscription_count():
            self._quality.publish(
                quality_message(
                    header,
                    number,
                    frame.names,
                    frame.status,
                    frame.differences,
                    frame.converged,
                    frame.iterations,
                    frame.seconds,
                    self._live.unobservable(frame),
                )
            )
        now = time.monotonic()
        if now < self._drawn_at + self._drawing_period:
            return
        if self._drawings.get_subscription_count():
            self._drawn_at = now
            self._drawings.publish(
                marker_drawings(header, frame.measured, frame.markers, frame.status)
            )

    def _refuse(self, error: Exception) -> None:
        self._diagnostics.refuse(str(error))
        warn_refused(self, "markers", error)

    def _job(self, goal: Any) -> FileJob:
        """A file to do, by a goal; what it leaves open is that of the parameters.

        Raises:
            ConfigurationError: no file is named.
            ParameterError: a file is not in the folder of requests.
        """
        if not goal.file:
            raise ConfigurationError("the goal names no file")
        path, known = self._folder.path, self._folder.known_or_path
        return FileJob(
            file=path(goal.file),
            model=self.model,
            marker_set=known(goal.marker_set, ".yaml")
            if goal.marker_set
            else self._set,
            subject=str(path(goal.subject)) if goal.subject else "",
            mode=goal.mode or self._mode,
            start=goal.start_time,
            end=goal.end_time,
            folder=path(goal.output_folder) if goal.output_folder else None,
            correspondence=self._correspondence,
            pipeline=self._pipeline,
            settings=self._settings,
        )

    def _diagnose(self) -> None:
        silent = time.monotonic() > self._diagnostics.heard_at + _BEAT
        state = "waiting for markers" if silent else "reconstructs"
        live, note = self._live, self._live.note
        if silent and self._diagnostics.frames:
            note = gone(self, _MARKERS) or note
        self._diagnostics.publish(state, note, live.beginnings, self._files.state)

    def close(self) -> None:
        """End the work on a file."""
        self._files.close()
