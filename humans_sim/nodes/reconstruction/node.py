# SPDX-License-Identifier: Apache-2.0
"""Node ``reconstruction``: a person's posture from optical markers, live.

Takes ``markers`` (humans_msgs/MarkerFrame). Gives, with the stamp of the markers,
``odom`` (nav_msgs/Odometry), the transform from the frame of the markers to base_link,
``joint_states``, ``reconstruction_quality`` (humans_msgs/ReconstructionQuality),
``reconstruction_markers`` (visualization_msgs/MarkerArray) and ``/diagnostics``. The
action ``reconstruct`` (humans_msgs/Reconstruct) does files, in a thread beside.

Diagnostics follow REP-107.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
from humans_msgs.action import Reconstruct
from humans_msgs.msg import MarkerFrame, ReconstructionQuality
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.models.description import BASE_LINK
from humans_sim.nodes.common.conversions import (
    duration_of,
    joint_state,
    nanoseconds_of,
    odometry,
    transform,
)
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics, gone
from humans_sim.nodes.common.marker_messages import (
    JointSpread,
    marker_drawings,
    markers_of,
    quality_message,
)
from humans_sim.nodes.common.model_node import ModelNode, ProcessNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.services import PatientServer
from humans_sim.nodes.reconstruction.job import (
    CancelledError,
    Done,
    FileJob,
    FileWorker,
    occlusion,
)
from humans_sim.observation.markers.marker_set import CANONICAL, load_marker_set
from humans_sim.observation.markers.pipeline import PipelineSettings
from humans_sim.observation.posture.live import LONGEST_GAP, LiveFrame, LivePostures
from humans_sim.observation.posture.result import FAILED, MarkerStatus
from humans_sim.observation.reconstruction_options import MODES, ReconstructionOptions


class ReconstructionDiagnostics(Diagnostics):
    """Counts frames and what goes wrong.

    Attributes:
        heard_at: when the last frame came, wall time [s].
    """

    def __init__(self, node: Node, model: str) -> None:
        super().__init__(node, "reconstruction", model)
        self.heard_at = -np.inf
        self._reported_at = time.monotonic()
        self._forget()

    def _forget(self) -> None:
        self._solved: list[float] = []
        self._answered: list[float] = []
        self._rms: list[float] = []
        self._seen = self._occluded = self._rejected = self._lost = 0

    def take(self, frame: LiveFrame, seconds: float) -> None:
        """Count a frame; its wall time [s] is from its arrival to ``joint_states``."""
        self.counts["frames"] += 1
        self._solved.append(frame.seconds)
        self._answered.append(seconds)
        self._rms.append(frame.rms)
        self._seen += len(frame.names)
        self._occluded += int((frame.status == MarkerStatus.OCCLUDED).sum())
        self._rejected += int((frame.status == MarkerStatus.REJECTED).sum())
        self._lost += not frame.converged

    def report(self, state: str, note: str, starts: int, files: str) -> None:
        """Report how the time since the last message was.

        The note is what is not as it should be, ``files`` what the action does.
        """
        now = time.monotonic()
        count, span = len(self._solved), max(now - self._reported_at, 1e-9)
        lost = "most frames did not converge" if 2 * self._lost > count else ""
        values = {
            "rate [Hz]": f"{count / span:.4g}",
            **self.counted("frames", "missed_frames"),
            "starts": str(starts),
            "solve_time [ms]": _percentiles(self._solved),
            "answer_time [ms]": _percentiles(self._answered),
            "rms [mm]": _mean(self._rms),
            "occluded [%]": _share(self._occluded, self._seen),
            "rejected [%]": _share(self._rejected, self._seen),
            "not_converged": str(self._lost),
            "files": files,
            **self.refusals(),
        }
        self.publish(state, "", self.refused() or lost or note, values)
        self._reported_at = now
        self._forget()


def _percentiles(seconds: list[float]) -> str:
    if not seconds:
        return ""
    middle, high, top = 1e3 * np.percentile(seconds, (50, 99, 100))
    return f"median {middle:.2f}, 99 % {high:.2f}, most {top:.2f}"


def _mean(values: list[float]) -> str:
    known = [1e3 * value for value in values if np.isfinite(value)]
    return f"{np.mean(known):.2f}" if known else ""


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}" if whole else ""


Result = Reconstruct.Result
_LOOK = 0.1
"""Wall time between two looks at the worker [s]."""
_PATIENCE = 1.0
"""Wall time that the worker has to end with the node [s]."""


class FileGoals:
    """Serves the action; one goal at a time, in a thread beside that of the node.

    ``job`` makes a job of a goal, or raises.
    """

    def __init__(
        self, node: ProcessNode, job: Callable[[Any], FileJob], frame: str
    ) -> None:
        self._job, self._frame = job, frame
        self._worker: FileWorker | None = None
        self._handle: Any = None
        self._reported: Done | None = None
        self._server = PatientServer(node, Reconstruct, "reconstruct", self._on_goal)
        node.every(_LOOK, self._look)

    @property
    def state(self) -> str:
        """Its state in a few words; empty where nothing is done."""
        if self._worker is None:
            return ""
        done = self._worker.done
        return "begins" if done is None else f"{done.frames} of {done.total} frames"

    def close(self) -> None:
        """End the work on a file."""
        if self._worker is not None:
            self._worker.cancel()
            self._worker.join(_PATIENCE)

    def _on_goal(self, handle: Any) -> None:
        handle.execute()
        try:
            if self._worker is not None:
                raise HumansError("another file is being reconstructed")
            job = self._job(handle.request)
            job.check()
        except HumansError as error:
            result = Result(success=False, message=str(error))
            self._server.finish(handle, result, False, False)
            return
        self._handle, self._reported = handle, None
        self._worker = FileWorker(job)

    def _look(self) -> None:
        worker, handle = self._worker, self._handle
        if worker is None:
            return
        if handle.is_cancel_requested:
            worker.cancel()
        if worker.over:
            self._worker = self._handle = None
            self._end(handle, worker)
        elif worker.done is not None and worker.done is not self._reported:
            self._reported = worker.done
            handle.publish_feedback(self._feedback(worker.done))

    def _feedback(self, done: Done) -> Any:
        feedback = Reconstruct.Feedback(
            frames_done=done.frames, frames_total=done.total
        )
        feedback.quality = quality_message(
            Header(frame_id=self._frame), done.number, done.names, done.posture
        )
        return feedback

    def _end(self, handle: Any, worker: FileWorker) -> None:
        if worker.result is None:
            error = worker.error
            message = str(error)
            if not isinstance(error, HumansError | OSError):
                message = f"unexpected {type(error).__name__}: {error}"
            result = Result(success=False, message=message)
        else:
            reconstruction = worker.result
            verdict = reconstruction.verdict
            result = Result(
                success=verdict.grade != FAILED, frames=len(reconstruction.q)
            )
            result.message = "" if verdict.good else str(verdict)
            result.rms = reconstruction.rms
            worst = reconstruction.worst_frames(1)
            result.worst_frame = int(reconstruction.trial.frames[worst[0]]) % 2**32
            result.marker_names = list(reconstruction.names)
            result.marker_rms = reconstruction.marker_rms.tolist()
            result.marker_occlusion = occlusion(reconstruction).tolist()
            result.unobservable_joints = list(reconstruction.unobservable)
            result.output_files = [str(path) for path in worker.files]
        result.duration = duration_of(worker.seconds)
        cancelled = isinstance(worker.error, CancelledError)
        cancelled = cancelled and handle.is_cancel_requested
        self._server.finish(handle, result, result.success, cancelled)


_DEPTH = 100
_WAITING = 10
"""Frames that may wait: where the machine is too slow older ones are missed."""
_WORLD, _MARKERS = "world", "markers"


class Reconstruction(ModelNode):
    """Answers frames of markers by postures."""

    usual_model = "human36"

    def __init__(self, name: str = "reconstruction", **options: Any) -> None:
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
        search = PipelineSettings.of_files(self._pipeline, None).solver
        outlier = given.number(
            "outlier",
            search.outlier,
            "distance at which a marker counts a quarter [m]",
            1e-3,
        )
        self._settings = replace(search, outlier=outlier)
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
        self.every(BEAT, self._diagnose)

    def _on_markers(self, message: MarkerFrame) -> None:
        begun = time.perf_counter()
        try:
            names, positions = markers_of(message)
            t = nanoseconds_of(message.header.stamp) / 1e9
            # A number that goes back is of another trial, or the same once more.
            anew = message.frame_number < self._number
            frame = self._live.push(t, names, positions, anew)
        except HumansError as error:
            self._diagnostics.refuse(_MARKERS, error)
            return
        if not frame.begins:
            missed = max(message.frame_number - self._number - 1, 0)
            self._diagnostics.counts["missed_frames"] += missed
        self._number = message.frame_number
        self._diagnostics.heard_at = time.monotonic()
        header = Header(
            stamp=message.header.stamp, frame_id=message.header.frame_id or _WORLD
        )
        # Publish the base, then the joints: whoever draws these knows where.
        stamp, parent, child = header.stamp, header.frame_id, self.framed(BASE_LINK)
        moving = odometry(stamp, parent, child, frame.q, frame.v)
        moving.pose.covariance = np.diag(frame.std[:6] ** 2).ravel()
        self._odometry.publish(moving)
        if self._places_base:
            base = pin.XYZQUATToSE3(frame.q[:7])
            moved = transform(stamp, parent, child, base)
            self._tf.publish(TFMessage(transforms=[moved]))
        self._joint_states.publish(
            joint_state(stamp, self.model.joint_names, frame.q[7:], frame.v[6:])
        )
        self._diagnostics.take(frame, time.perf_counter() - begun)
        self._publish_fit(header, message.frame_number, frame)

    def _publish_fit(self, header: Header, number: int, frame: LiveFrame) -> None:
        """Publish how markers are explained, where somebody listens."""
        if self._quality.get_subscription_count():
            self._quality.publish(
                quality_message(
                    header,
                    number,
                    frame.names,
                    frame,
                    frame.seconds,
                    self._live.unobservable(frame),
                    self._spread(frame),
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

    def _spread(self, frame: LiveFrame) -> JointSpread:
        names = self.model.joint_names
        hidden = [names[k] for k in np.flatnonzero(frame.hidden)]
        return JointSpread(names, frame.std[6:], hidden, frame.noise)

    def _job(self, goal: Any) -> FileJob:
        """A file to do, by a goal; what it leaves open is that of the parameters."""
        if not goal.file:
            raise ConfigurationError("the goal names no file")
        path, known = self._folder.path, self._folder.known_or_path
        return FileJob(
            file=path(goal.file),
            model=self.model,
            marker_set=known(goal.marker_set, ".yaml")
            if goal.marker_set
            else self._set,
            options=ReconstructionOptions(
                subject=path(goal.subject) if goal.subject else None,
                mode=goal.mode or self._mode,
                start=goal.start_time,
                end=goal.end_time,
                correspondence=self._correspondence,
                pipeline=self._pipeline,
            ),
            folder=path(goal.output_folder) if goal.output_folder else None,
            settings=self._settings,
        )

    def _diagnose(self) -> None:
        silent = time.monotonic() > self._diagnostics.heard_at + BEAT
        state = "waiting for markers" if silent else "reconstructs"
        live, note = self._live, self._live.note
        if silent and self._diagnostics.counts["frames"]:
            note = gone(self, _MARKERS) or note
        self._diagnostics.report(state, note, live.beginnings, self._files.state)

    def close(self) -> None:
        """End the work on a file."""
        self._files.close()
