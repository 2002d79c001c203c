# SPDX-License-Identifier: Apache-2.0
"""What the node ``anatomy`` computes beside its topics, in threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from humans_sim.anatomy import WristRun, load_wrist_run
from humans_sim.anatomy.wrist.wrist_run import resting_run
from humans_sim.applications.ball_models import BuiltModel, build_ball_model
from humans_sim.applications.wrist_scenarios import WristSetup
from humans_sim.core.errors import HumansError


class CancelledError(HumansError):
    """The node ends before the motion is computed."""


class MotionWorker:
    """Computes a motion, or reads one.

    Args:
        setup: of the motion.
        file: of a stored one, which is read instead; None: it is computed.

    Attributes:
        share: how much is done, 0 to 1.
        rest: its bones at rest, as soon as they are there.
        run: the motion, once it is there.
        error: what went wrong.
    """

    def __init__(self, setup: WristSetup, file: Path | None) -> None:
        """Begin."""
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


class ModelWorker:
    """Builds a ball model and calls back.

    Args:
        source: a mesh, or with a link a URDF.
        target: file of the model.
        spacing: edge of a voxel [m].
        link: of the URDF, or empty.
        done: called in the thread, with the model or what went wrong.
    """

    def __init__(
        self,
        source: Path,
        target: Path,
        spacing: float,
        link: str,
        done: Callable[[BuiltModel | Exception], None],
    ) -> None:
        """Begin."""

        def work() -> None:
            outcome: BuiltModel | Exception
            try:
                outcome = build_ball_model(source, spacing, link=link, reduced=True)
                outcome.model.save(target)
            except Exception as error:  # reported to whoever asked
                outcome = error
            done(outcome)

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
