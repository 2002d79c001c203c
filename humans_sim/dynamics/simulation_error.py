# SPDX-License-Identifier: Apache-2.0
"""What a simulation that ends early raises."""

from __future__ import annotations

from humans_sim.core.errors import HumansError
from humans_sim.results.run import Run
from humans_sim.results.sample import Sample


class SimulationError(HumansError):
    """A simulation could not continue.

    Attributes:
        time: when [s].
        q: configuration then.
        v: velocity then.
        z: states of the actuation then.
        run: everything computed so far.
    """

    def __init__(self, message: str, sample: Sample, run: Run) -> None:
        """Keep the last state and what was computed."""
        self.time, self.q, self.v, self.z = sample.t, sample.q, sample.v, sample.z
        self.run, self._parts = run, (message, sample, run)
        super().__init__(f"at {sample.t:.9g} s: {message}")

    def __reduce__(self) -> tuple[type[SimulationError], tuple[str, Sample, Run]]:
        """Made again from its parts, as between processes."""
        return type(self), self._parts
