# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/muscles.md, each from muscles on the bench."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from humans_sim.actuation import QUADRICEPS, MuscleParameters, Stimulator
from humans_sim.actuation.muscle import CommandSignal
from humans_sim.actuation.muscle_bench import simulate_muscle

IMAGES = Path(__file__).parent / "images"
STIMULATOR = Stimulator()
FULL = STIMULATOR.max_charge
HELD = 60.0
"""Pulse rate that keeps the command signal at its upper value [Hz]."""


def train(rate: float, end: float, charge: float = FULL) -> list[tuple[float, float]]:
    """Pulses at a rate [Hz]."""
    return [(k / rate, charge) for k in range(int(np.ceil(end * rate)))]


def signal() -> Figure:
    """Command signal after pulses, and the recruitment curve."""
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    pulses = [0.01, 0.07, 0.085]
    history = simulate_muscle(
        QUADRICEPS, [(t, FULL) for t in pulses], t_end=0.14, sampling_period=1e-4
    )
    left.plot(1e3 * history.t, history.command_signal)
    for k, time in enumerate(pulses):
        label = "a pulse acts" if k == 0 else None
        left.axvline(1e3 * time, color="0.6", linestyle=":", label=label)
    for time, state in ((20.0, "2"), (46.0, "1"), (55.0, "0")):
        height = {"2": 5.4, "1": 0.4, "0": -4.6}[state]
        left.annotate(f"state {state}", (time, height), ha="center", va="bottom")
    left.set(xlabel="time [ms]", ylabel="command signal u [1/s]", ylim=(-6.0, 7.5))
    left.legend(loc="upper right", fontsize=9)
    charge = np.linspace(0.0, FULL, 200)
    right.plot(1e6 * charge, [STIMULATOR.recruitment(c) for c in charge])
    right.set(xlabel="pulse: width times current [µA s]", ylabel="recruitment α [-]")
    right.grid(alpha=0.3)
    return figure


def tetanus() -> Figure:
    """Isometric force at several pulse rates."""
    figure = Figure(figsize=(8.0, 4.2), layout="constrained")
    axes = figure.subplots()
    for rate in (60, 30, 15, 8, 4):
        history = simulate_muscle(QUADRICEPS, train(rate, 1.5), t_end=2.0)
        axes.plot(history.t, history.force, label=f"{rate} Hz")
    history = simulate_muscle(QUADRICEPS, [(0.0, FULL)], t_end=2.0)
    axes.plot(history.t, history.force, color="black", label="one pulse")
    axes.axvline(1.5, color="0.6", linestyle=":")
    axes.annotate("last pulse", (1.51, 490.0), fontsize=9, color="0.4")
    axes.set(xlabel="time [s]", ylabel="force [N]", ylim=(0.0, 520.0))
    axes.legend(title="full pulses at", loc="upper left")
    axes.grid(alpha=0.3)
    return figure


def isovelocity(speed: float, ramp: float = 0.3) -> float:
    """Force as a stimulated muscle passes its rest length at a strain rate [N]."""
    hold, drive = 2.0, -np.sign(speed) * ramp
    end = hold + (ramp / abs(speed) if speed else 0.0)

    def strain(t: float) -> tuple[float, float]:
        return (drive, 0.0) if t < hold else (drive + speed * (t - hold), speed)

    history = simulate_muscle(
        QUADRICEPS,
        train(HELD, end),
        strain if speed else 0.0,
        end,
        breaks=(hold,),
        sampling_period=end / 100,
    )
    return float(history.force[-1])


def steady(speed: np.ndarray) -> np.ndarray:
    """Force at a constant contractile speed for ever, at rest length [N]."""
    muscle, u = QUADRICEPS, CommandSignal().upper
    rate = speed * muscle.length / muscle.contractile_length
    share = u / (u + np.abs(rate))
    stiffness = muscle.stiffness * share
    pushed = stiffness * muscle.contractile_length * rate
    return (muscle.force * u + pushed) / (u + np.abs(rate))


def curves() -> Figure:
    """Force over length and over speed."""
    figure = Figure(figsize=(10.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    strains = np.linspace(-0.5, 0.5, 41)
    for share, colour in ((1.0, "tab:blue"), (0.5, "tab:cyan")):
        pulses = train(HELD, 3.0, STIMULATOR.charge(share))
        forces = [
            simulate_muscle(QUADRICEPS, pulses, e, 3.0, sampling_period=1.0).force[-1]
            for e in strains
        ]
        label = f"stimulated, α = {share:g}"
        left.plot(strains, forces, ".-", color=colour, label=label)
    spring = MuscleParameters(parallel_force=20.0, parallel_exponent=8.0)
    passive = [
        simulate_muscle(spring, [], e, 0.1, sampling_period=0.1).force[-1]
        for e in strains
    ]
    label = "a parallel spring (k_p 20 N, k_ep 8)"
    left.plot(strains, passive, "--", color="tab:red", label=label)
    left.set(xlabel="strain ε [-]", ylabel="isometric force [N]", ylim=(-30.0, 640.0))
    left.legend(fontsize=9, loc="upper left")
    left.grid(alpha=0.3)
    fine = np.linspace(-1.5, 1.5, 301)
    right.plot(fine * QUADRICEPS.length, steady(fine), label="steady, closed form")
    speeds = np.linspace(-1.5, 1.5, 21)
    forces = [isovelocity(float(speed)) for speed in speeds]
    right.plot(
        speeds * QUADRICEPS.length,
        forces,
        "o",
        markersize=4,
        label="on a ramp, at ε = 0",
    )
    right.axhline(0.0, color="0.4", linewidth=0.8)
    right.set(xlabel="speed of lengthening [m/s]", ylabel="force [N]", ylim=(-40, 600))
    right.annotate("← shortens", (-0.06, 560.0), color="0.4", ha="right")
    right.annotate("is stretched →", (0.06, 560.0), color="0.4")
    right.axvline(0.0, color="0.4", linewidth=0.8)
    right.legend(fontsize=9, loc="lower right")
    right.grid(alpha=0.3)
    return figure


def main() -> None:
    """Write the pictures."""
    for name, draw in {
        "muscle_signal": signal,
        "muscle_tetanus": tetanus,
        "muscle_curves": curves,
    }.items():
        draw().savefig(IMAGES / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main()
