# SPDX-License-Identifier: Apache-2.0
"""A run for display: its model, its scene, the forces on its links.

A run keeps of each contact its mode, gap and force along normal and tangents. Where the
contact is and which way its surface faces follows from the posture, the model and the
scene that the run names, as in the simulation itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.soles import PointContacts, SoleLoad, Soles
from humans_sim.models import Model
from humans_sim.models.legs import tag_of
from humans_sim.results.export import has_free_base
from humans_sim.results.record import (
    link_of,
    recorded_features,
    recorded_ground,
    recorded_model,
)
from humans_sim.results.records import POINT, Sample
from humans_sim.results.run import Run
from humans_sim.results.run_robots import RunRobot
from humans_sim.soft.ground.footprints import Footprints, GroundHistory, ground_history
from humans_sim.soft.packed_numbers import CoatTracks
from humans_sim.view.browser.scene_layers import RunCables, body_height
from humans_sim.view.browser.touches import Touches


class RunContacts:
    """Contacts of a biped of a run, a sample at a time.

    Args:
        run: of bipeds, alone or among free bodies.
        robot: the biped.
        ground: its scene.

    Attributes:
        soles: names, links and surfaces of the contacts; None where there are none.

    Raises:
        ParameterError: the run has other contacts than this model in this scene.
        RunFileError: what is recorded of the scene is damaged.
    """

    def __init__(self, run: Run, robot: RunRobot, ground: Ground) -> None:
        self.run, self.robot = run, robot
        contacts = robot.contacts(run)
        system = _system(run, robot, contacts, ground)
        self.soles = None if system is None else Soles(system)
        known = [] if system is None else system.contacts.names
        self._columns = [contacts[name] for name in known]
        self._moments = bool(ground.rolling or ground.torsional)

    @property
    def weight(self) -> float:
        """Of the model [N]."""
        return float(self.robot.model.mass * GRAVITY)

    def sample(self, k: int) -> Sample:
        """A sample; forces that a failed simulation did not find are zero."""
        run, robot, columns = self.run, self.robot, self._columns
        return Sample(
            float(run.t[k]),
            np.ascontiguousarray(run.q[k, robot.q]),
            np.ascontiguousarray(run.v[k, robot.v]),
            run.z[k],
            run.torques[k, robot.v],
            run.contacts[k, columns],
            np.nan_to_num(run.forces[k, columns]),
            run.gaps[k, columns],
            *run.energy[k].tolist(),
        )

    def points(self, k: int) -> PointContacts | None:
        """Contact points at a sample, in the world; None where there are none."""
        return None if self.soles is None else self.soles.points(self.sample(k))

    def loads(self, k: int, points: PointContacts) -> list[SoleLoad]:
        """Loads of the soles.

        On a ground with rolling or torsional friction there are none: a run does not
        keep the moments of it.

        Args:
            k: the sample.
            points: its contacts, by :meth:`points`.
        """
        if self.soles is None or self._moments:
            return []
        return self.soles.loads(self.sample(k), points)

    def touches(self, k: int) -> Touches | None:
        """Contact points at a sample, to be drawn; None where there are none."""
        points = self.points(k)
        if self.soles is None or points is None:
            return None
        return Touches.of_points(self.soles, points)


def _system(
    run: Run, robot: RunRobot, contacts: Mapping[str, int], ground: Ground
) -> ModelSystem | None:
    """Model and scene again, as far as contact points go."""
    model, kinds = robot.model, run.table.kinds
    body = recorded_features(run.info)
    own = set(() if body is None else body.names)
    names = [
        name
        for name, column in contacts.items()
        if kinds[column] == POINT
        and (tag_of(name) in own or not link_of(name, run.info))
    ]
    if not names:
        return None
    points = list(dict.fromkeys(tag_of(name) for name in names))
    tags = [p for p in points if p not in own and p in model.tag_names]
    if set(points) <= {*tags, *own}:
        known = run.info.get("radii", {})
        named = {point: robot.prefix + point for point in points}
        radii = {own: known[name] for own, name in named.items() if name in known}
        system = ModelSystem(
            model, ground, limits=False, contacts=tags, radii=radii, features=body
        )
        if set(system.contacts.names) <= set(names):
            return system
    name = str(run.info.get("system", "run"))
    raise ParameterError(
        f"the run of {name} has other contacts than this scene: give the ground it was "
        "simulated on"
    )


WEIGHT_LENGTH, _POINT_LENGTH = 0.45, 1.0
"""Length of an arrow of one weight, of a link and of a point, in body heights."""


class Replay:
    """A run of a biped, ready to be shown; model and scene are recorded in it.

    Attributes:
        height: of the body in its zero position [m].
        contacts: where it touches, sample by sample.
        history: of a ground that gives way; None for others.

    Raises:
        ParameterError: the run is not of a biped, or not of this one or of this
            scene.
    """

    def __init__(
        self, run: Run, model: Model | None = None, ground: Ground | None = None
    ) -> None:
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
        robot = RunRobot.first(self.model)
        self.contacts = RunContacts(run, robot, self.ground)
        self._cables = RunCables(run, self.model)
        self._coat = CoatTracks(run.info)
        soft = (run.info.get("surface") or {}).get("history")
        self.history: GroundHistory | None = ground_history(run) if soft else None

    def footprints(self, k: int) -> Footprints | None:
        """Heights of a ground that gives way at a sample."""
        return None if self.history is None else self.history.at(float(self.run.t[k]))

    def cables(self, k: int) -> np.ndarray:
        """Cables that it hangs on and what it wears, as lines (n, 2, 3) [m]."""
        worn = self._coat.at(float(self.run.t[k]))
        return np.concatenate([self._cables.at(k), worn])

    def arrows(self, k: int, each: bool = False) -> np.ndarray:
        """Forces of the scene at a sample as arrows (n, 2, 3) [m].

        An arrow starts at the centre of the force; its length is in proportion to it.

        Args:
            k: the sample.
            each: an arrow for each contact point, not for each link and solid.
        """
        touches = self.contacts.touches(k)
        if touches is None:
            return np.zeros((0, 2, 3))
        length = (_POINT_LENGTH if each else WEIGHT_LENGTH) * self.height
        return touches.arrows(self.contacts.weight, length, each)
