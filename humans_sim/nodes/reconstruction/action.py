# SPDX-License-Identifier: Apache-2.0
"""The action ``reconstruct``: files of markers, beside the live ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from humans_msgs.action import Reconstruct
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Header

from humans_sim.core.errors import HumansError
from humans_sim.nodes.common.conversions import duration_of
from humans_sim.nodes.common.marker_messages import quality_message
from humans_sim.nodes.common.patient_server import PatientServer
from humans_sim.nodes.reconstruction.job import (
    CancelledError,
    Done,
    FileJob,
    FileWorker,
    occlusion,
)
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.posture.verdict import FAILED

Result = Reconstruct.Result
_LOOK = 0.1
"""Wall time between two looks at the worker [s]."""
_PATIENCE = 1.0
"""Wall time that the worker has to end with the node [s]."""


class FileGoals:
    """Serves the action; one goal at a time, in a thread beside that of the node.

    Args:
        node: whose action it is.
        job: makes a job of a goal, or raises.
        frame: of the residuals.
    """

    def __init__(self, node: Node, job: Callable[[Any], FileJob], frame: str) -> None:
        """Begin to serve."""
        self._job, self._frame = job, frame
        self._worker: FileWorker | None = None
        self._handle: Any = None
        self._reported: Done | None = None
        self._server = PatientServer(node, Reconstruct, "reconstruct", self._on_goal)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(_LOOK, self._look, clock=steady)

    @property
    def state(self) -> str:
        """What is done, a few words; empty where nothing is."""
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
            self._give(handle, Result(success=False, message=str(error)))
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
        posture = done.posture
        feedback.quality = quality_message(
            Header(frame_id=self._frame),
            done.number,
            done.names,
            posture.status,
            posture.differences,
            posture.converged,
            posture.iterations,
            0.0,
            (),
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
            result = _result(worker.result)
            result.output_files = [str(path) for path in worker.files]
        result.duration = duration_of(worker.seconds)
        self._give(handle, result, isinstance(worker.error, CancelledError))

    def _give(self, handle: Any, result: Any, cancelled: bool = False) -> None:
        def finish(_: Any) -> Any:
            if result.success:
                handle.succeed()
            elif cancelled and handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result

        self._server.notify_execute(handle, finish)


def _result(reconstruction: Reconstruction) -> Any:
    verdict = reconstruction.verdict
    result = Result(success=verdict.grade != FAILED, frames=len(reconstruction.q))
    result.message = "" if verdict.good else str(verdict)
    result.rms = reconstruction.rms
    worst = reconstruction.worst_frames(1)
    result.worst_frame = int(reconstruction.trial.frames[worst[0]]) % 2**32
    result.marker_names = list(reconstruction.names)
    result.marker_rms = reconstruction.marker_rms.tolist()
    result.marker_occlusion = occlusion(reconstruction).tolist()
    result.unobservable_joints = list(reconstruction.unobservable)
    return result
