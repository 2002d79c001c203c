# SPDX-License-Identifier: Apache-2.0
"""Bip behind its sensors: as many seeds of their noise as asked for, none may fall.

``--scenario bip-one-step --seeds 100`` runs the scenario once with the true state and
then with sensors and observer, each time with other errors, and compares the figures:
where both soles and the centre of mass are at the end, and how high the left foot was.
A trial is passed where the run's check holds (it stays on its feet) and no figure is
more than a millimetre from that of the true state.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario

LIMIT = 1e-3
"""Largest difference of a figure [m]."""
NAMES = ("left sole", "right sole", "centre of mass", "lift")


def figures(model: hs.Model, run: hs.Run) -> np.ndarray:
    """Places at the end (3 each) and the largest height of the left sole [m]."""
    last = run.q[-1]
    soles = [model.frame_pose(last, f"{side}_sole").translation for side in "lr"]
    lift = max(model.frame_pose(q, "l_sole").translation[2] for q in run.q)
    return np.concatenate([*soles, model.com(last), [lift]])


def simulated(name: str, method: str, seed: int | None) -> hs.Run:
    """A run with the true state, or with sensors of a seed."""
    feedback = "true_state" if seed is None else "observer"
    scenario = read_scenario(name).with_changes(method=method, feedback=feedback)
    simulation, q, v = scenario.prepare()
    for k, sensor in enumerate(simulation.sensors):
        sensor.seed = 1000 * (seed or 0) + k
    return simulation.run(
        q,
        v,
        t_end=scenario.end,
        sampling_period=scenario.sampling_period,
        progress=False,
    )


def main() -> None:
    """Run the trials; a line for each, and what came of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", default="bip-one-step")
    parser.add_argument("--method", default="event_driven")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    model = hs.load_model("bip")
    true = figures(model, simulated(chosen.scenario, chosen.method, None))
    passed, worst, start = 0, np.zeros(len(true)), time.process_time()
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        run = simulated(chosen.scenario, chosen.method, seed)
        away = np.abs(figures(model, run) - true)
        seen = np.stack([run.signal(f"observer/position_{a}") for a in "xyz"], axis=1)
        error = np.nanmax(np.linalg.norm(seen - run.q[:, :3], axis=1))
        right = bool(run.check()) and away.max() < LIMIT
        passed, worst = passed + right, np.maximum(worst, away)
        print(
            f"seed {seed}: {'passed' if right else 'FAILED'}, largest difference "
            f"{1e3 * away.max():.3f} mm, observer {1e3 * error:.3f} mm",
            flush=True,
        )
    parts = [worst[:3].max(), worst[3:6].max(), worst[6:9].max(), worst[9]]
    text = ", ".join(
        f"{name} {1e3 * part:.3f} mm" for name, part in zip(NAMES, parts, strict=True)
    )
    print(f"{chosen.scenario}, {chosen.method}: {passed} of {chosen.seeds} passed")
    print(f"largest differences from the true state: {text}")
    print(f"{(time.process_time() - start) / max(chosen.seeds, 1):.1f} s of CPU a run")


if __name__ == "__main__":
    main()
