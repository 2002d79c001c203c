# SPDX-License-Identifier: Apache-2.0
"""A muscle alone on the bench: pulses and a prescribed length, no body."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.actuation.muscle import (
    GUARD,
    RELAXED,
    CommandClocks,
    CommandSignal,
    ContractilePart,
    MuscleError,
    MuscleParameters,
    Stimulator,
    command_sizes,
    command_value,
    contraction,
    parallel_spring,
)
from humans_sim.core.budget import SAMPLES
from humans_sim.core.errors import ParameterError

Strain = Callable[[float], tuple[float, float]]
"""Time to strain and its rate [1/s]."""


@dataclass(frozen=True)
class MuscleHistory:
    """The history of a muscle on the bench, each (samples,).

    Attributes:
        t: [s].
        command_signal: u [1/s].
        strain: of the whole muscle.
        contractile_stiffness: k_c [N/m].
        contractile_force: F_c [N].
        force: of the whole muscle [N].
        switches: times at which the contractile part turned round by itself [s].
    """

    t: np.ndarray
    command_signal: np.ndarray
    strain: np.ndarray
    contractile_stiffness: np.ndarray
    contractile_force: np.ndarray
    force: np.ndarray
    switches: tuple[float, ...]


def simulate_muscle(
    parameters: MuscleParameters,
    pulses: Sequence[tuple[float, float]],
    strain: Strain | float = 0.0,
    t_end: float = 1.0,
    *,
    start: tuple[float, float] = (0.0, 0.0),
    breaks: Sequence[float] = (),
    sampling_period: float = 1e-3,
    signal: CommandSignal | None = None,
    stimulator: Stimulator | None = None,
    rtol: float = 1e-10,
) -> MuscleHistory:
    """Stimulate a muscle whose length is given.

    Args:
        parameters: the muscle.
        pulses: when each pulse acts [s], and its charge [A s].
        strain: of the muscle, fixed (isometric) or a function of time.
        t_end: end of the run, which starts at zero [s].
        start: k_c [N/m] and F_c [N] at the start.
        breaks: times at which the strain's rate jumps [s].
        sampling_period: time between samples [s].
        signal: shape of the command signal.
        stimulator: the largest pulse.
        rtol: relative tolerance.

    Raises:
        ParameterError: a pulse or a time is out of range.
        MuscleError: the equations have no unique solution at some state.
    """
    if not (math.isfinite(t_end) and t_end > 0 and 0 < sampling_period <= t_end):
        raise ParameterError("t_end and sampling_period must be above zero")
    if not all(time >= 0.0 for time, _ in pulses):
        raise ParameterError("pulses must act at times of 0 or more")
    stimulator = Stimulator() if stimulator is None else stimulator
    waiting = sorted((time, stimulator.recruitment(charge)) for time, charge in pulses)
    length = strain if callable(strain) else (lambda t: (strain, 0.0))
    from scipy.integrate import solve_ivp  # slow to load

    muscle = _Bench(parameters, length, CommandSignal() if signal is None else signal)
    kinks = sorted({*(time for time, _ in waiting), *breaks, t_end})
    SAMPLES.check("a muscle's history", t_end / sampling_period)
    count = math.floor(t_end / sampling_period * (1 + 1e-12)) + 1
    times = np.minimum(sampling_period * np.arange(count, dtype=float), t_end)
    samples = np.empty((count, 3))
    t, y, switched = 0.0, np.array(start, dtype=float), list[float]()
    stop = 0.0
    while t < t_end:
        if t == stop:
            while waiting and waiting[0][0] <= t:
                muscle.stimulate(t, waiting.pop(0)[1])
            stop = muscle.tick(t, y, min(time for time in kinks if time > t))
        part = solve_ivp(
            muscle.rates,
            (t, stop),
            y,
            method="DOP853",
            rtol=rtol,
            atol=1e-12,
            events=muscle.turning,
            dense_output=True,
        )
        reached = float(part.t[-1])
        for k in np.flatnonzero((times >= t) & (times <= reached)):
            samples[k] = (muscle.signal(times[k]), *part.sol(times[k]))
        t, y = reached, part.y[:, -1]
        if part.status == 1:
            switched.append(t)
            muscle.turn()
    strains = np.array([length(time)[0] for time in times])
    passive = np.array([parallel_spring(e, muscle.row) for e in strains])
    return MuscleHistory(
        times,
        samples[:, 0],
        strains,
        samples[:, 1],
        samples[:, 2],
        samples[:, 2] + passive,
        tuple(switched),
    )


class _Bench:
    """The muscle between two kinks of its command signal and of its length."""

    def __init__(
        self, parameters: MuscleParameters, length: Strain, signal: CommandSignal
    ) -> None:
        self.row, self._length = parameters.row(), length
        self._clocks = CommandClocks(1, signal)
        self._recruitment, self._switch, self._stop = 0.0, 1.0, math.inf
        self.turning = self._turning()

    def signal(self, t: float) -> float:
        """The command signal [1/s]."""
        return float(self._clocks.values(t)[0])

    def stimulate(self, t: float, recruitment: float) -> None:
        """A pulse acts."""
        if recruitment > 0.0:
            self._clocks.stimulate(0, t)
            self._recruitment = recruitment

    def tick(self, t: float, y: np.ndarray, next_kink: float) -> float:
        """Change states whose time has come; returns until when all is smooth [s]."""
        self._clocks.tick(t)
        if self._clocks.calcium_states()[0] == RELAXED:
            self._recruitment = 0.0
        self._stop = min(next_kink, self._clocks.next_time())
        numerator = self._contract(t, y)[0]
        if abs(numerator) > GUARD:
            self._switch = math.copysign(1.0, numerator)
        return self._stop

    def turn(self) -> None:
        """The contractile part turned round."""
        self._switch = -self._switch

    def rates(self, t: float, y: np.ndarray) -> tuple[float, float]:
        """Rates of k_c and F_c."""
        return self._contract(t, y)[3:]

    def _turning(self) -> Callable[[float, np.ndarray], float]:
        def turning(t: float, y: np.ndarray) -> float:
            return self._switch * self._contract(t, y)[0] + GUARD

        turning.terminal, turning.direction = True, -1.0  # type: ignore[attr-defined]
        return turning

    def _contract(
        self, t: float, y: np.ndarray
    ) -> tuple[float, float, float, float, float]:
        clocks, phase = self._clocks, int(self._clocks.phase[0])
        u = command_value(t, phase, clocks.falls[0], clocks.shape)
        size, positive = command_sizes(u, phase)
        # up to a break of the strain, but not on its other side
        strain, rate = self._length(min(t, math.nextafter(self._stop, -math.inf)))
        drive = self._recruitment * positive
        values: tuple[float, float, float, float, float] = contraction(
            strain,
            rate,
            ContractilePart(y[0], y[1], self._switch),
            size,
            drive,
            self.row,
        )
        if not values[1] > 0.0:
            raise MuscleError(
                f"at {t:.9g} s: no unique motion, k_s L_c0 + k_c L_c0 - S F_c = "
                f"{values[1]:.3g} N must be above zero; give it a larger "
                "series_stiffness"
            )
        return values
