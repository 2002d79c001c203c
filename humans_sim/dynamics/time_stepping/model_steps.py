# SPDX-License-Identifier: Apache-2.0
"""Time steps of models in one compiled call each."""

from __future__ import annotations

from typing import Any

import numpy as np

from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.model_step_kernels import (
    DONE,
    StepGeometry,
    model_energies,
    model_step,
)
from humans_sim.dynamics.tree_table import TreeTable


class ModelSteps:
    """Makes the steps of a model.

    Args:
        system: the model in its scene.
        tree: its links.
    """

    def __init__(self, system: ModelSystem, tree: TreeTable) -> None:
        """Put the arrays together that the kernels read and write."""
        table = system.contacts
        moving, poses, motions, joints = system.contact_arrays
        self._system = system
        # Plain tuples: numba takes a microsecond to see the type of a named one.
        self._tree = tuple(tree)
        self._geometry = tuple(
            StepGeometry(
                moving=moving,
                poses=poses,
                motions=motions,
                links=np.array(joints, dtype=np.int64) - 1,
                restitution=table.restitution,
                tangents=table.tangents,
                friction=table.friction,
            )
        )

    @classmethod
    def of(cls, system: System) -> ModelSteps | None:
        """For a model whose joints have one axis each; None for other systems."""
        if not isinstance(system, ModelSystem):
            return None
        tree = system.tree
        return None if tree is None else cls(system, tree)

    def serves(self, q: np.ndarray, v: np.ndarray, h: float) -> bool:
        """Whether a step has only contacts that the kernel knows: no links touch."""
        return self._system.are_links_apart(q, v, 0.5 * h)

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        kinetic, potential = model_energies(self._tree, q, v)
        return float(kinetic), float(potential)

    def step(
        self,
        start: tuple[np.ndarray, ...],
        applied: np.ndarray,
        h: float,
        energies: tuple[float, float],
        carried: float,
    ) -> tuple[Any, ...] | None:
        """What a step leads to; None where it needs other methods.

        Args:
            start: fields of a :class:`StepStart`, as a plain tuple.
            applied: forces that act, contacts aside (nv,).
            h: length of the step [s].
            energies: kinetic and potential energy at the start [J].
            carried: excess of energy left by the steps before [J].
        """
        status, *result = model_step(
            self._tree, self._geometry, start, applied, h, (*energies, carried)
        )
        return tuple(result) if status == DONE else None
