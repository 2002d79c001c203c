# SPDX-License-Identifier: Apache-2.0
"""How deep the feet of a biped sank into a ground that gives way."""

from __future__ import annotations

from dataclasses import dataclass

from humans_sim.analysis.footfalls import LEAST_LIFT, stances
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.results.run import Run


@dataclass(frozen=True)
class Sinkage:
    """One stance.

    Attributes:
        sole: frame of the sole.
        start: when it began to carry load [s].
        depth: of the lowest point of the sole below the ground at rest, the largest
            in the stance [m].
    """

    sole: str
    start: float
    depth: float


def sinkages(run: Run) -> tuple[Sinkage, ...]:
    """How deep the soles sank in each stance, in the order of time.

    Empty for a run on rigid ground; errors as of :meth:`RunMotion.of_run`.
    """
    surface = run.info.get("surface")
    if surface is None:
        return ()
    motion = RunMotion.of_run(run)
    rest = float(surface["origin"][2])
    lift = LEAST_LIFT * abs(float(motion.base_height[0]))
    sunk = []
    for sole in motion.soles:
        lowest = sole.points[:, :, 2].min(axis=1)
        stood = stances(motion.run.t, sole.load, sole.height, motion.weight, lift)
        sunk += [
            Sinkage(
                sole.name,
                float(motion.run.t[s.first]),
                rest - float(lowest[s.first : s.last + 1].min()),
            )
            for s in stood
        ]
    return tuple(sorted(sunk, key=lambda stance: stance.start))


def sinkage_lines(run: Run) -> list[str]:
    """The same as lines for people."""
    stood = sinkages(run)
    if not stood:
        return []
    depths = ", ".join(f"{1e3 * stance.depth:.1f}" for stance in stood)
    name = run.info["surface"]["name"]
    return [f"sinkage into {name} in each stance: {depths} mm"]
