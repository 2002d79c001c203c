# SPDX-License-Identifier: Apache-2.0
"""The robots of a run: names, models, and which coordinates are theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from humans_sim.models import Model
from humans_sim.results.export import has_free_base
from humans_sim.results.record import recorded_model, sound_record

if TYPE_CHECKING:
    from humans_sim.results.run import Run


class RunRobot(NamedTuple):
    """A robot of a run.

    Attributes:
        prefix: before names of its links and contacts, as ``robot2/``; the first one
            has none.
        model: of it.
        q: its coordinates.
        v: its velocities.
    """

    prefix: str
    model: Model
    q: slice
    v: slice

    @classmethod
    def first(cls, model: Model) -> RunRobot:
        """The first robot of a run, or the only one."""
        return cls("", model, slice(0, model.nq), slice(0, model.nv))

    def contacts(self, run: Run) -> dict[str, int]:
        """Columns of its contacts, by its own names; the first has the bodies', too."""
        others = tuple(f"{record['name']}/" for record in run.info.get("robots", ()))
        return {
            name.removeprefix(self.prefix): column
            for column, name in enumerate(run.table.names)
            if name.startswith(self.prefix)
            and (self.prefix or not name.startswith(others))
        }


def run_robots(run: Run) -> list[RunRobot]:
    """The robots of a run of bipeds; further ones come after the bodies.

    Raises:
        RunFileError: what is recorded of them is damaged.
        UnknownModelError: a model is no longer there.
    """
    if not has_free_base(run):
        return []
    robots = [RunRobot.first(recorded_model(run.info))]
    bodies = len(run.info.get("bodies", ()))
    nq, nv = robots[0].q.stop + 7 * bodies, robots[0].v.stop + 6 * bodies
    with sound_record("its robots"):
        for record in run.info.get("robots", ()):
            model = recorded_model({"model": record["model"]})
            q, v = slice(nq, nq + model.nq), slice(nv, nv + model.nv)
            robots.append(RunRobot(f"{record['name']}/", model, q, v))
            nq, nv = q.stop, v.stop
    return robots
