# SPDX-License-Identifier: Apache-2.0
"""A run as it can be shown: its model, its scene, the forces on its links."""

from __future__ import annotations

import numpy as np

from humans_sim.contact import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.results.export import has_free_base
from humans_sim.results.record import recorded_ground, recorded_model
from humans_sim.results.run import Run
from humans_sim.soft.coats.packed_tracks import CoatTracks
from humans_sim.soft.ground.footprints import (
    Footprints,
    GroundHistory,
    ground_history,
)
from humans_sim.view.browser.cables import RunCables
from humans_sim.view.browser.geometry import body_height
from humans_sim.view.browser.run_contacts import RunContacts
from humans_sim.view.browser.touches import Touches

WEIGHT_LENGTH, _POINT_LENGTH = 0.45, 1.0
"""Length of an arrow of one weight, of a link and of a point, in body heights."""


class Replay:
    """A run of a biped, ready to be shown.

    Attributes:
        run: the run.
        model: its model.
        ground: its scene.
        height: of the body in its zero position [m].
        contacts: where it touches, sample by sample.
        history: of a ground that gives way; None for others.
    """

    def __init__(
        self, run: Run, model: Model | None = None, ground: Ground | None = None
    ) -> None:
        """Take a run; what is not given comes from the run's own record.

        Args:
            run: what to show.
            model: its model.
            ground: its scene.

        Raises:
            ParameterError: the run is not of a biped, or not of this one or of this
                scene.
        """
        name = str(run.info.get("system", "run"))
        if not has_free_base(run):
            raise ParameterError(
                f"only runs of biped models can be shown, not '{name}'; try run.plot"
            )
        self.run = run
        self.model = recorded_model(run.info) if model is None else model
        self.ground = recorded_ground(run.info) if ground is None else ground
        self.height = body_height(self.model)
        if run.position_names[7:] != self.model.joint_names:
            raise ParameterError(
                f"the run of {name} has other joints than the model {self.model.name}"
            )
        self.contacts = RunContacts(run, self.model, self.ground)
        self._cables = RunCables(run, self.model)
        self._coat = CoatTracks(run.info)
        soft = run.info.get("surface") or {}
        self.history: GroundHistory | None = None
        if soft.get("history"):
            self.history = ground_history(run)

    def footprints(self, k: int) -> Footprints | None:
        """Heights of a ground that gives way at a sample."""
        return None if self.history is None else self.history.at(float(self.run.t[k]))

    def cables(self, k: int) -> np.ndarray:
        """Cables that it hangs on and what it wears, as lines (n, 2, 3) [m]."""
        worn = self._coat.at(float(self.run.t[k]))
        return np.concatenate([self._cables.at(k), worn])

    def indices(self, period: float) -> list[int]:
        """Samples at least a period apart, the first and the last among them."""
        kept, t = [0], self.run.t
        for k in range(1, len(t)):
            if t[k] - t[kept[-1]] >= period * (1 - 1e-6):
                kept.append(k)
        return kept if kept[-1] == len(t) - 1 else [*kept, len(t) - 1]

    def nearest(self, times: np.ndarray) -> list[int]:
        """Samples nearest to some times."""
        t = self.run.t
        right = np.clip(np.searchsorted(t, times), 1, max(len(t) - 1, 1))
        left = right - 1
        right = np.minimum(right, len(t) - 1)
        return np.where(times - t[left] <= t[right] - times, left, right).tolist()

    def arrows(self, k: int, each: bool = False) -> np.ndarray:
        """Forces of the scene at a sample as arrows (n, 2, 3) [m].

        An arrow starts at the centre of the force; its length is in proportion to it.

        Args:
            k: the sample.
            each: an arrow for each contact point, not for each link and solid.
        """
        touches = self.touches(k)
        if touches is None:
            return np.zeros((0, 2, 3))
        length = (_POINT_LENGTH if each else WEIGHT_LENGTH) * self.height
        return touches.arrows(self.weight, length, each)

    @property
    def weight(self) -> float:
        """Of the model [N]."""
        return self.contacts.weight

    def touches(self, k: int) -> Touches | None:
        """Contact points at a sample, in the world; None where there are none."""
        return self.contacts.touches(k)
