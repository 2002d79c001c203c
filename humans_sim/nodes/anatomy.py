# SPDX-License-Identifier: Apache-2.0
"""Node ``anatomy``: a wrist that moves, its contacts and its ligaments.

The motion is computed first (slower than real time; ``/diagnostics`` say how far it is,
the bones stand at rest) or read from a file, then played in a loop in real time.

Gives ``/tf`` (wrist -> bones), ``bones`` and ``wrist_markers`` (MarkerArray),
``ligaments`` and ``bone_turns`` (JointState), ``bone_contacts`` (humans_msgs/
ContactStates) and ``/diagnostics``. Services: ``~/pause`` (SetBool), ``~/restart``
(Trigger). Action: ``~/make_ball_model`` (humans_msgs/MakeBallModel).

The motion and the ball models are computed in threads of their own.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import TransformStamped
from humans_msgs.action import MakeBallModel
from humans_msgs.msg import ContactPoint, ContactStates
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from humans_sim.anatomy import HandMotion, StepNumbers, WristRun, load_wrist_run
from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.volumes.mesh_repair import collision_mesh
from humans_sim.anatomy.wrist.hand_motion import AXES
from humans_sim.anatomy.wrist.wrist_run import TOUCHING_GAP, resting_run
from humans_sim.applications.wrist_scenarios import (
    METHODS,
    SPACING,
    BuiltModel,
    WristSetup,
    build_ball_model,
)
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.files import check_output_file
from humans_sim.nodes.common.conversions import (
    duration_of,
    filled,
    marker_array,
    set_vector,
    transform,
)
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics
from humans_sim.nodes.common.model_node import ProcessNode, latched
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.services import PatientServer
from humans_sim.observation.markers.playback import FACTORS, Playback
from humans_sim.view.wrist_topics import WristMessages, bone_markers


class SampleMessages(WristMessages):
    """Makes the messages of a motion's samples.

    Args:
        prefix: before the names of the bones, in names of frames.
    """

    def __init__(self, run: WristRun, frame: str, prefix: str) -> None:
        super().__init__(run, frame)
        self._prefix = prefix
        self._pairs: list[tuple[int, int]] = []
        if run.loads is not None:  # pairs that carry load at some time, in order
            touching = zip(*np.nonzero(run.loads.max(axis=0) > 0), strict=True)
            self._pairs = [(i, j) for i, j in touching if i < j]

    def transforms(self, stamp: Any, k: int) -> list[TransformStamped]:
        """Frames of all bones, at their centres of mass."""
        return [
            transform(
                stamp,
                self._frame,
                self._prefix + name,
                pin.SE3(self.run.frames[k, n], self.run.x[k, n]),
            )
            for n, name in enumerate(self.run.wrist.names)
        ]

    def contact_states(self, stamp: Any, k: int, contacts: Contacts) -> ContactStates:
        """A contact for each pair of bones that ever carries load."""
        message = ContactStates(header=Header(stamp=stamp, frame_id=self._frame))
        names = self.run.wrist.names
        for i, j in self._pairs:
            rows = np.flatnonzero((contacts.body_i == i) & (contacts.body_j == j))
            point = ContactPoint(name=f"{names[i]}/{names[j]}", link_name=names[i])
            point.surface, point.mode = names[j], ContactPoint.OPEN
            if len(rows):
                normal = contacts.normal[rows].mean(axis=0)
                normal /= max(float(np.linalg.norm(normal)), 1e-12)
                point.mode = ContactPoint.SLIDING
                point.gap = -float(contacts.depth[rows].max())
                set_vector(point.position, contacts.point[rows].mean(axis=0))
                set_vector(point.normal, normal)
                assert self.run.loads is not None  # pairs are from it
                set_vector(point.force, float(self.run.loads[k, i, j]) * normal)
            else:
                point.gap = TOUCHING_GAP
            message.points.append(point)
        return message


class CancelledError(HumansError):
    """The node ends, or a goal is cancelled, before the work is done."""


class MotionWorker:
    """Computes a motion, or reads one.

    Args:
        file: of a stored one, which is read instead; None: it is computed.

    Attributes:
        share: how much is done, 0 to 1.
        rest: its bones at rest, as soon as they are there.
        run: the motion, once it is there.
    """

    def __init__(self, setup: WristSetup, file: Path | None) -> None:
        self._setup, self._file = setup, file
        self._stop = threading.Event()
        self.share = 0.0
        self.rest: WristRun | None = None
        self.run: WristRun | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End after the step that is under way."""
        self._stop.set()

    def _work(self) -> None:
        try:
            if self._file is not None:
                self.run = load_wrist_run(self._file)
            else:
                wrist = self._setup.wrist()
                self.rest = resting_run(wrist, self._setup.motion)
                self.run = self._setup.run(self._watch, wrist=wrist)
        except Exception as error:  # reported on /diagnostics, whatever it is
            self.error = error

    def _watch(self, done: int, total: int) -> None:
        if self._stop.is_set():
            raise CancelledError("the node ends")
        self.share = done / max(total, 1)


class BallModelWorker:
    """Makes a ball model in a thread of its own, and writes it.

    Args:
        source: a mesh, or with ``link`` a URDF.
        target: the model's file.
        spacing: edge of a voxel [m].

    Attributes:
        target: the model's file.
        stage: what is done now.
        outcome: the model, or what went wrong; None until it is over.
    """

    def __init__(self, source: Path, link: str, target: Path, spacing: float) -> None:
        self._source, self._link, self._spacing = source, link, spacing
        self._stop = threading.Event()
        self.target, self.stage = target, ""
        self.outcome: BuiltModel | Exception | None = None
        self._begun = time.monotonic()
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def elapsed(self) -> float:
        """Since it began, wall time [s]."""
        return time.monotonic() - self._begun

    def cancel(self) -> None:
        """End before the next stage, and write nothing."""
        self._stop.set()

    def _work(self) -> None:
        try:
            built = build_ball_model(
                self._source,
                self._spacing,
                link=self._link,
                reduced=True,
                watch=self._watch,
            )
            self._watch("writes the model")
            built.model.save(self.target)
            self.outcome = built
        except Exception as error:  # reported to whoever asked
            self.outcome = error

    def _watch(self, stage: str) -> None:
        if self._stop.is_set():
            raise CancelledError("it was cancelled")
        self.stage = stage


class BallModelGoals:
    """Serves the action ``~/make_ball_model``, one goal at a time.

    Files are below ``request_folder`` only, meshes that a URDF names among them.
    """

    def __init__(self, node: ProcessNode, given: Parameters) -> None:
        self._folder, self._logger = given.request_folder(), node.get_logger()
        self._worker: BallModelWorker | None = None
        self._handle: Any = None
        self._reported = -math.inf
        self._server = PatientServer(
            node, MakeBallModel, "~/make_ball_model", self._on_goal
        )
        node.every(_LOOK, self._look)

    def close(self) -> None:
        """Begin no further stage."""
        if self._worker is not None:
            self._worker.cancel()

    def _on_goal(self, handle: Any) -> None:
        handle.execute()
        try:
            if self._worker is not None:
                raise ParameterError("a model is being made: ask again later")
            self._worker = self._begin(handle.request)
        except HumansError as error:
            result = MakeBallModel.Result(success=False, message=str(error))
            self._server.finish(handle, result, False, False)
            return
        self._handle, self._reported = handle, -math.inf

    def _begin(self, goal: Any) -> BallModelWorker:
        name, link, spacing = goal.file, goal.link, goal.spacing or _SPACING
        if not name:
            raise ParameterError("the goal names no file")
        if not SPACING[0] <= spacing <= SPACING[1]:
            low, high = SPACING
            raise ParameterError(
                f"spacing must be {low:g} to {high:g} m, not {spacing:g}"
            )
        source = self._folder.path(name)
        if link:  # the mesh that a description names may not be elsewhere, either
            self._folder.path(str(collision_mesh(source, link)[0].resolve()))
        usual = f"{link}.npz" if link else str(Path(name).with_suffix(".npz"))
        target = self._folder.path(goal.output or usual)
        check_output_file(target, (".npz",))
        return BallModelWorker(source, link, target, spacing)

    def _look(self) -> None:
        worker, handle = self._worker, self._handle
        if worker is None:
            return
        if handle.is_cancel_requested:
            worker.cancel()
        if worker.outcome is not None:
            self._worker = self._handle = None
            self._end(handle, worker, worker.outcome)
        elif worker.elapsed >= self._reported + _FEEDBACK:
            self._reported = worker.elapsed
            feedback = MakeBallModel.Feedback(stage=worker.stage)
            feedback.elapsed = duration_of(worker.elapsed)
            handle.publish_feedback(feedback)

    def _end(
        self, handle: Any, worker: BallModelWorker, outcome: BuiltModel | Exception
    ) -> None:
        result = MakeBallModel.Result(duration=duration_of(worker.elapsed))
        if isinstance(outcome, BuiltModel):
            result.success, result.output_file = True, str(worker.target)
            result.message = "; ".join(outcome.repairs)
            result.balls, result.rms = len(outcome.model), float(outcome.error.rms)
        else:
            result.message = str(outcome)
            if not isinstance(outcome, HumansError):
                self._logger.error(f"no ball model: {outcome!r}")
        cancelled = isinstance(outcome, CancelledError) and handle.is_cancel_requested
        self._server.finish(handle, result, result.success, cancelled)


_LOOK, _FEEDBACK = 0.05, 0.5
"""Wall time between two looks at the worker, and two feedbacks [s]."""
_SPACING = 5e-4
"""Edge of a voxel where a goal leaves it open [m]."""
_DEPTH = 10


@dataclass(frozen=True)
class _Samples:
    """Times of a run, for its playback."""

    times: np.ndarray

    def __len__(self) -> int:
        return len(self.times)


class Anatomy(ProcessNode):
    """Computes a motion of a wrist, and plays it."""

    def __init__(self, name: str = "anatomy", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        setup = self._setup(given)
        file = given.path("file", "a stored motion .npz; empty: it is computed")
        self._factor = given.number("rate", 1.0, "speed over real time", *FACTORS)
        self._loop = given.flag("loop", True, "begin again at the end")
        period = 1.0 / given.number("publish_rate", 30.0, "samples [Hz]", 1.0, 200.0)
        self._frame = given.text("frame_id", "wrist", "frame of the wrist")
        self._prefix = given.text("frame_prefix", "", "before names of bones' frames")
        self._models = BallModelGoals(self, given)
        self._diagnostics = Diagnostics(self, "wrist", setup.bones)
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
        self.every(BEAT, self._diagnose)
        self.get_logger().info(f"{setup.motion.kind} of '{setup.bones}'")

    def _setup(self, given: Parameters) -> WristSetup:
        kinds, defaults = tuple(AXES), HandMotion()
        motion = HandMotion(
            given.choice("motion", defaults.kind, "of the hand", kinds),
            math.radians(given.number("angle", 30.0, "of the hand [deg]", 0.0, 90.0)),
            given.number(
                "duration", defaults.duration, "of the motion [s]", 0.01, 60.0
            ),
            given.number("settling", defaults.settling, "before it [s]", 0.0, 10.0),
            given.number("holding", defaults.holding, "after it [s]", 0.0, 10.0),
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
            self._bones.publish(marker_array(bone_markers(run.wrist, self._prefix)))
        self._messages, self._row = SampleMessages(run, self._frame, self._prefix), 0

    def _publish(self) -> None:
        messages, k = self._messages, self._row
        if messages is None:
            return
        stamp, contacts = self.get_clock().now().to_msg(), messages.contacts(k)
        self._tf.publish(TFMessage(transforms=messages.transforms(stamp, k)))
        self._ligaments.publish(filled(JointState(), messages.ligaments(k, stamp)))
        self._turns.publish(filled(JointState(), messages.turns(k, stamp)))
        self._contacts.publish(messages.contact_states(stamp, k, contacts))
        self._markers.publish(marker_array(messages.markers(k, contacts)))

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
        self._diagnostics.publish(
            self._state, str(error) if error else "", warning, values
        )

    def close(self) -> None:
        """End the computations."""
        self._worker.cancel()
        self._models.close()
