# SPDX-License-Identifier: Apache-2.0
"""Cost of inertia + nl_effects beside pinocchio's own calls, in one run.

Goals: the model within 1.5 times pinocchio, the HuMAnS view within 10 times. The
configurations change from call to call, as they do in a simulation; rounds of the
contenders alternate, and the median round counts.
"""

from __future__ import annotations

import argparse
import platform
import statistics

import numpy as np
import pinocchio as pin
from timing import seconds_per_call

import humans_sim as hs
from humans_sim.models import NAMES

CALLS = 500
ROUNDS = 60


def compare(model: hs.Model, count: int) -> dict[str, float]:
    """Median time of a call for each contender [us]."""
    rng = np.random.default_rng(0)
    qs = [model.random_configuration(rng) for _ in range(CALLS)]
    vs = [rng.normal(size=model.nv) for _ in range(CALLS)]
    views = [model.humans.from_pin(q, v) for q, v in zip(qs, vs, strict=True)]
    view, data = model.humans, model.data()

    def pinocchio(i: int) -> None:
        pin.crba(model.pin, data, qs[i])
        pin.nonLinearEffects(model.pin, data, qs[i], vs[i])

    def model_terms(i: int) -> None:
        model.inertia(qs[i])
        model.nl_effects(qs[i], vs[i])

    def humans(i: int) -> None:
        view.inertia(views[i][0])
        view.nl_effects(*views[i])

    contenders = {"pinocchio": pinocchio, "model": model_terms, "HuMAnS view": humans}
    rounds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(count):
        for name, call in contenders.items():
            rounds[name].append(seconds_per_call(call, CALLS))
    return {name: 1e6 * statistics.median(times) for name, times in rounds.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    count = parser.parse_args().rounds
    print(f"inertia + nl_effects on {platform.machine()}")
    print(f"{'model':12} {'contender':12} {'us':>8} {'ratio':>6}")
    models = {name: hs.load_model(name) for name in NAMES}
    # like for like: pinocchio knows nothing of Bip's rotors
    models["bip, bodies"] = hs.load_model("bip", rotors=False)
    for name, model in models.items():
        times = compare(model, count)
        for contender, value in times.items():
            ratio = value / times["pinocchio"]
            print(f"{name:12} {contender:12} {value:8.2f} {ratio:6.2f}")


if __name__ == "__main__":
    main()
