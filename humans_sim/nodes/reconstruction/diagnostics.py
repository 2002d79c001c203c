# SPDX-License-Identifier: Apache-2.0
"""How a live reconstruction fares, on ``/diagnostics`` (REP-107)."""

from __future__ import annotations

import time

import numpy as np
from rclpy.node import Node

from humans_sim.nodes.common.diagnostic_status import StatusTopic
from humans_sim.observation.posture.live import LiveFrame
from humans_sim.observation.posture.result import MarkerStatus


class ReconstructionDiagnostics:
    """Counts frames and what goes wrong, and reports it.

    Attributes:
        frames: that were answered.
        missed: that never came, by their numbers.
        refused: that made no sense.
        heard_at: when the last frame came, wall time [s].
    """

    def __init__(self, node: Node, model: str) -> None:
        """Publish for a node.

        Args:
            node: it reconstructs.
            model: name of what it reconstructs.
        """
        self._status = StatusTopic(node, "reconstruction", model)
        self.frames = self.missed = self.refused = 0
        self.heard_at = -np.inf
        self._refusal, self._reported_refused = "", 0
        self._reported_at = time.monotonic()
        self._forget()

    def _forget(self) -> None:
        self._solved: list[float] = []
        self._answered: list[float] = []
        self._rms: list[float] = []
        self._seen = self._occluded = self._rejected = self._lost = 0

    def refuse(self, reason: str) -> None:
        """Count a message that is not taken."""
        self.refused += 1
        self._refusal = reason

    def take(self, frame: LiveFrame, seconds: float) -> None:
        """Count a frame.

        Args:
            frame: as it was explained.
            seconds: from its arrival to ``joint_states``, wall time.
        """
        self.frames += 1
        self._solved.append(frame.seconds)
        self._answered.append(seconds)
        self._rms.append(frame.rms)
        self._seen += len(frame.names)
        self._occluded += int((frame.status == MarkerStatus.OCCLUDED).sum())
        self._rejected += int((frame.status == MarkerStatus.REJECTED).sum())
        self._lost += not frame.converged

    def publish(self, state: str, note: str, starts: int, files: str) -> None:
        """Report how the time since the last message was.

        Args:
            state: one word or a few.
            note: what is not as it should be, empty where nothing is.
            starts: how often frames began.
            files: what the action does.
        """
        now = time.monotonic()
        count, span = len(self._solved), max(now - self._reported_at, 1e-9)
        warning = note
        if self.refused > self._reported_refused:
            warning = f"messages were refused: {self._refusal}"
        elif count and 2 * self._lost > count:
            warning = "most frames did not converge"
        values = {
            "rate [Hz]": f"{count / span:.4g}",
            "frames": str(self.frames),
            "missed_frames": str(self.missed),
            "starts": str(starts),
            "solve_time [ms]": _percentiles(self._solved),
            "answer_time [ms]": _percentiles(self._answered),
            "rms [mm]": _mean(self._rms),
            "occluded [%]": _share(self._occluded, self._seen),
            "rejected [%]": _share(self._rejected, self._seen),
            "not_converged": str(self._lost),
            "files": files,
            "refused_messages": str(self.refused),
            "last_refusal": self._refusal,
        }
        self._status.publish(state, "", warning, values)
        self._reported_at, self._reported_refused = now, self.refused
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
