# SPDX-License-Identifier: Apache-2.0
"""Sweeps: all combinations of values and seeds of a scenario, each simulated once.

The machinery is that of the batches of recordings,
:mod:`humans_sim.applications.batch.runner`: records and a journal in a folder, so that
a sweep that was killed resumes, and one that grows does what is new. The name of a run
comes from its values and its seed: more values or seeds keep what is done.

*Seeds* change what an experimenter cannot hold. the joints at the start, each by up to
:data:`JOINTS`; the friction of the floor, by up to a share of :data:`FRICTION` unless
friction is varied; and, where a sweep pushes, the direction and the time of the push.
One seed changes the same things by the same numbers whatever else is varied: runs of
one seed can be compared pairwise.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.applications.batch.record import (
    DONE,
    FAILED,
    KEPT,
    Ledger,
    Watch,
    run_claimed,
)
from humans_sim.applications.batch.runner import run_tasks
from humans_sim.applications.batch.sweep_table import (
    COLUMNS,
    ERROR,
    empty_row,
    one_line,
    run_row,
)
from humans_sim.applications.batch.variations import (
    PUSH,
    Value,
    Values,
    Variation,
    check_variations,
    grid,
    varied_scenario,
)
from humans_sim.applications.scenarios import Scenario
from humans_sim.core.bounded_text import fits
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.files import content_hash, is_file
from humans_sim.core.resources import named_file, resource
from humans_sim.core.version import __version__
from humans_sim.core.yaml_file import read_yaml
from humans_sim.results.records import POINT
from humans_sim.results.run import Run

if TYPE_CHECKING:
    from humans_sim.dynamics.simulation import Simulation
    from humans_sim.dynamics.worlds import Worlds

JOINTS = math.radians(0.5)
"""Largest change of a joint's angle at the start [rad]."""
FRICTION = 0.1
"""Largest change of the floor's friction, relative."""
_OTHERS = {"bodies", "coat", "wrist", "puppet"}
"""Sections of scenarios that are not of a biped alone."""
PUSH_SPAN = (0.3, 0.7)
"""Part of a run in which a push comes, in its duration."""


@dataclass(frozen=True)
class Chance:
    """The draws of a seed.

    Attributes:
        friction: relative change, of [-1, 1].
        direction: of a push from the base's x axis at the start [rad].
        time: of a push, of [0, 1].
    """

    friction: float
    direction: float
    time: float
    _random: np.random.Generator

    @classmethod
    def of_seed(cls, seed: int) -> Chance:
        """Draw; the joints come last, for there may be any number of them."""
        random = np.random.default_rng(seed)
        friction, turn, time = random.uniform(-1, 1), random.uniform(), random.uniform()
        return cls(friction, 2 * math.pi * turn, time, random)

    def joints(self, count: int) -> np.ndarray:
        """Changes of the joints at the start (count,), of [-1, 1]; drawn once."""
        return self._random.uniform(-1, 1, count)


def check_seeds(scenario: Scenario) -> None:
    """Refuse seeds where they change nothing: no biped alone."""
    if scenario.model is None or _OTHERS & set(scenario.sections):
        raise ParameterError(
            f"seeds change the start and the floor of a biped: '{scenario.name}' has "
            "no biped alone (--seeds 0)"
        )


def prepare_seeded(
    name: str, values: Values, seed: int
) -> tuple[Scenario, tuple[Any, np.ndarray, np.ndarray]]:
    """A scenario as a seed makes it: simulation, q0 and v0 beside it."""
    chance, given = Chance.of_seed(seed), dict(values)
    settings: dict[str, str] = {}
    if not {"friction", "ground.friction"} & set(given):
        friction = _floor_friction(name, values) * (1 + FRICTION * chance.friction)
        settings["ground.friction"] = repr(friction)
    scenario = varied_scenario(name, values, settings)
    simulation, q, v = scenario.prepare()
    if PUSH in given:
        _add_push(simulation, float(given[PUSH]), chance, scenario.end)
    return scenario, (simulation, _moved(simulation, q, chance), v)


@lru_cache(maxsize=1024)
def _floor_friction(name: str, values: Values) -> float:
    """Friction of the floor of a scenario without a seed."""
    simulation, _, _ = varied_scenario(name, values).prepare()
    return float(simulation.system.ground.friction)


def _add_push(simulation: Any, impulse: float, chance: Chance, end: float) -> None:
    """One push on the base, besides those of the scenario."""
    from humans_sim.dynamics.pushes import Push

    begin, last = PUSH_SPAN
    time = end * (begin + (last - begin) * chance.time)
    x, y = math.cos(chance.direction), math.sin(chance.direction)
    push = Push(time, (impulse * x, impulse * y, 0.0))
    pushes = (*simulation.pushes, push)
    simulation.pushes = tuple(sorted(pushes, key=lambda planned: planned.time))


def _moved(simulation: Any, q: np.ndarray, chance: Chance) -> np.ndarray:
    """A start with other joint angles; its lowest point is as high as it was."""
    system, model = simulation.system, simulation.system.model
    points = np.array([kind == POINT for kind in system.contacts.kinds], dtype=bool)
    joints = q[7:]
    changed = joints + JOINTS * chance.joints(len(joints))
    low = np.minimum(model.lower_limits, joints)
    high = np.maximum(model.upper_limits, joints)
    moved = np.concatenate([q[:7], np.clip(changed, low, high)])
    if points.any():
        for _ in range(3):  # on a slope a metre up is less than a metre of gap
            gap = np.nanmin(system.gaps(q)[points])
            moved[2] += gap - np.nanmin(system.gaps(moved)[points])
    return moved


_RECORD = {
    **dict.fromkeys(("name", "state", "message", "detail"), str),
    **dict.fromkeys(("fingerprint", "batch", "mark"), str),
    "seconds": float,
    "row": COLUMNS,
}
_KINDS = ("models", "robots", "walking")
"""Folders of the package whose files are named after a model."""
_BESIDE = (".yaml", ".walk.yaml", ".robot.yaml")
"""Endings of files beside a URDF that belong to it."""
_LONGEST = 1000
"""Characters of a word that may be a file."""
_TOGETHER = 64
"""Runs at most that are stepped side by side: a kill loses them."""
_TRIED = 32
"""Values at most with which a scenario is put together before anything is run."""


@dataclass(frozen=True)
class SweptRun:
    """A run to do.

    Attributes:
        seed: what chance does; None: nothing.
        identity: hash of everything that all runs of the sweep share.
        batch: mark of the run of the sweep.
        again: whether it is done again though it is done.
    """

    scenario: str
    values: Values
    seed: int | None
    output: Path
    identity: str
    batch: str = ""
    again: bool = False

    @property
    def name(self) -> str:
        """Of its record: equal values and seeds have equal names."""
        seed = "nominal" if self.seed is None else f"seed{self.seed}"
        return f"{_hashed(sorted(self.values))[:16]}/{seed}"

    @property
    def label(self) -> str:
        """Values and seed."""
        words = [f"{key}={value}" for key, value in self.values]
        return ", ".join(
            [*words, *([] if self.seed is None else [f"seed {self.seed}"])]
        )

    @property
    def fingerprint(self) -> str:
        """Equal for two runs that give the same numbers."""
        return _hashed([self.identity, sorted(self.values), self.seed])

    def run(self, watch: Watch | None = None) -> RunOutcome:
        """Simulate; whatever goes wrong is an outcome."""
        outcome: RunOutcome = run_claimed(
            self, lambda ledger: self.previous(ledger) or self._simulated(ledger)
        )
        return outcome

    def previous(self, ledger: Ledger) -> RunOutcome | None:
        """The outcome of an earlier sweep, if that still holds."""
        stored = ledger.read(self.name)
        if not fits(stored, _RECORD):
            return None
        if stored["fingerprint"] != self.fingerprint or stored["state"] != DONE:
            return None
        if self.again and stored["batch"] != self.batch:
            return None
        return replace(RunOutcome(**stored), state=KEPT)

    def failure(self, message: str, detail: str = "") -> RunOutcome:
        """A run that was lost; the next sweep tries it again."""
        row = empty_row(ERROR, message)
        return RunOutcome(self.name, FAILED, message, detail, batch=self.batch, row=row)

    def _simulated(self, ledger: Ledger) -> RunOutcome:
        start, busy = time.perf_counter(), time.thread_time()
        row = self._row()
        return self.recorded(
            ledger, row, time.perf_counter() - start, time.thread_time() - busy
        )

    def recorded(
        self, ledger: Ledger, row: dict[str, Any], seconds: float, busy: float
    ) -> RunOutcome:
        """The outcome of a row that took some time [s] of clock and processor."""
        row |= {"wall_time": seconds, "cpu_time": busy}
        outcome = RunOutcome(
            self.name,
            DONE,
            fingerprint=self.fingerprint,
            batch=self.batch,
            mark=uuid.uuid4().hex,
            seconds=seconds,
            row=row,
        )
        ledger.write(self.name, asdict(outcome))
        return outcome

    def _row(self) -> dict[str, Any]:
        try:
            if self.seed is None:
                run = varied_scenario(self.scenario, self.values).run(progress=False)
            else:
                scenario, (simulation, q, v) = prepare_seeded(
                    self.scenario, self.values, self.seed
                )
                span = (0.0, scenario.end, scenario.sampling_period)
                run = simulation.run(q, v, *span, progress=False)
        except HumansError as error:
            return _row_of(error)
        return _row_of(run)


def _row_of(result: Run | HumansError) -> dict[str, Any]:
    """The row of a run; an error of the package is a result like any other."""
    from humans_sim.dynamics.simulation import SimulationError

    if isinstance(result, SimulationError):
        return run_row(result.run, result)
    if isinstance(result, HumansError):
        return empty_row(ERROR, one_line(result))
    return run_row(result, None)


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run; all of it goes into its record.

    Attributes:
        state: done, kept or failed; failed: it was lost, and is tried again.
        detail: where in the software, if it failed unexpectedly.
        fingerprint: of what it was made from.
        batch: mark of the sweep that did it.
        mark: of this doing, unlike any other.
        row: of the table, without values and seed.
    """

    name: str
    state: str
    message: str = ""
    detail: str = ""
    fingerprint: str = ""
    batch: str = ""
    mark: str = ""
    seconds: float = 0.0
    row: dict[str, Any] = field(default_factory=dict)


def plan_sweep(
    scenario: str,
    variations: Sequence[Variation],
    seeds: int = 0,
    output: Path | str = "sweep.runs",
    changes: Values = (),
) -> list[SweptRun]:
    """The runs of a sweep, values before seeds.

    Args:
        scenario: its name, or a file.
        variations: what is varied; every combination is run.
        seeds: how many runs of each combination differ by chance
            (:mod:`humans_sim.applications.batch.sweeps`); 0: one, without chance.
        output: folder of records and journal.
        changes: values that are the same in all runs, by their keys.

    Raises:
        ParameterError: there is no such scenario or key, a value cannot be, or seeds
            change nothing.
        ModelFileError: a value does not fit into the scenario.
    """
    constant = [Variation(key, (value,)) for key, value in changes]
    everything = [*constant, *variations]
    check_variations(everything, seeds)
    scenario = str(named_file("scenarios", scenario, "scenario").resolve())
    _try(scenario, everything, seeds)
    identity = _identity(scenario, everything)
    folder = Path(output).expanduser().resolve()
    chances: list[int | None] = [None] if not seeds else list(range(seeds))
    return [
        SweptRun(scenario, values, seed, folder, identity)
        for values in grid(everything)
        for seed in chances
    ]


def run_sweep(
    runs: Sequence[SweptRun],
    *,
    workers: int | None = None,
    cluster: str | None = None,
    again: bool = False,
) -> Generator[RunOutcome, None, None]:
    """Simulate what is not done yet; arguments and errors as of :func:`run_tasks`."""
    mark = uuid.uuid4().hex
    marked = [replace(run, batch=mark, again=again) for run in runs]
    return run_tasks(marked, workers, cluster, here=_in_this_process)


def _in_this_process(runs: Sequence[SweptRun]) -> Generator[RunOutcome, None, None]:
    """Simulate: seeds of equal values side by side by threads, where worlds can be."""
    for _, equal in groupby(runs, lambda run: run.values):
        group = list(equal)
        for first in range(0, len(group), _TOGETHER):
            part = group[first : first + _TOGETHER]
            worlds = _worlds_of(part)
            if worlds is None:
                yield from (run.run() for run in part)
            else:
                yield from _stepped(part, *worlds)


def _worlds_of(runs: Sequence[SweptRun]) -> tuple[Worlds, Scenario] | None:
    """Worlds of runs that differ by their seeds; None where they cannot be some."""
    from humans_sim.dynamics.worlds import Worlds

    simulations: list[Simulation] = []
    starts = []
    try:
        for run in runs:
            if run.seed is None:
                return None
            made = prepare_seeded(run.scenario, run.values, run.seed)
            scenario, (simulation, q, v) = made
            if not simulations:
                Worlds.of([simulation])
            simulations.append(simulation)
            starts.append((q, np.zeros(simulation.system.nv) if v is None else v))
        worlds = Worlds.of(simulations)
    except HumansError:
        return None  # by itself each run says why it cannot be
    worlds.reset(*(np.stack(column) for column in zip(*starts, strict=True)))
    return worlds, scenario


def _stepped(
    runs: Sequence[SweptRun], worlds: Worlds, scenario: Scenario
) -> Iterator[RunOutcome]:
    """Outcomes of runs that are stepped side by side; all take the same time."""
    start, busy = time.perf_counter(), time.process_time()
    results: Sequence[Run | HumansError]
    try:
        results = worlds.run(scenario.end, scenario.sampling_period)
    except HumansError as error:
        results = [error] * len(runs)
    seconds = (time.perf_counter() - start) / len(runs)
    busy = (time.process_time() - busy) / len(runs)
    for run, result in zip(runs, results, strict=True):
        yield run_claimed(run, partial(_filed, run, result, seconds, busy))


def _filed(
    run: SweptRun,
    result: Run | HumansError,
    seconds: float,
    busy: float,
    ledger: Ledger,
) -> RunOutcome:
    """The outcome of a run that was stepped with others, on record."""
    return run.recorded(ledger, _row_of(result), seconds, busy)


def sweep(
    scenario: str,
    vary: Mapping[str, Sequence[Value]] | None = None,
    seeds: int = 0,
    output: Path | str = "sweep.runs",
    *,
    workers: int | None = None,
    cluster: str | None = None,
) -> list[dict[str, Any]]:
    """Simulate a scenario with many values and seeds.

    Args:
        scenario: its name, or a file.
        vary: values by their keys, as of ``humans-sim sweep --vary``.
        seeds: runs of each combination that differ by chance; 0: one, without chance.
        output: folder of what is done; the same call resumes.
        workers: processes; None: as many as there are cores; 0: this one, which steps
            seeds as worlds side by side where they have no controller. Processes
            import the calling script again: it needs ``if __name__ == "__main__":``.
        cluster: address of a dask scheduler, instead.

    Returns:
        A row for each run: values, seed, outcome and numbers.

    Raises:
        HumansError: as of :func:`plan_sweep` and :func:`run_tasks`.
    """
    variations = [
        Variation(key, tuple(v if isinstance(v, str) else float(v) for v in values))
        for key, values in (vary or {}).items()
    ]
    runs = plan_sweep(scenario, variations, seeds, output)
    return table_rows(runs, list(run_sweep(runs, workers=workers, cluster=cluster)))


def table_rows(
    runs: Sequence[SweptRun], outcomes: Sequence[RunOutcome]
) -> list[dict[str, Any]]:
    """The table of a sweep: values, seed and numbers of each run, in their order."""
    by_name = {outcome.name: outcome for outcome in outcomes}
    missing = [run.label for run in runs if run.name not in by_name]
    if missing:
        raise ParameterError(f"{len(missing)} runs are not done, first {missing[0]}")
    return [
        {**dict(run.values), "seed": run.seed, **by_name[run.name].row} for run in runs
    ]


def _try(scenario: str, variations: Sequence[Variation], seeds: int) -> None:
    """Put a scenario together with some of its values: wrong keys are found now."""
    first: dict[str, Value] = {v.key: v.values[0] for v in variations}
    tried = [tuple(first.items())]
    for variation in variations:
        tried += [
            tuple({**first, variation.key: value}.items())
            for value in variation.values[1:]
        ]
    for values in tried[:_TRIED]:
        made = varied_scenario(scenario, values)
        if seeds:
            check_seeds(made)
        if not (made.has_wrist or made.has_network):
            made.prepare()


def _identity(scenario: str, variations: Sequence[Variation]) -> str:
    """Hash of the software, the scenario and the files that it and the values name."""
    path = named_file("scenarios", scenario, "scenario")
    words = _words(read_yaml(path).plain())
    for variation in variations:
        words += [value for value in variation.values if isinstance(value, str)]
    files = {path}
    for word in words:
        files |= {file for file in _named_files(word, path.parent) if is_file(file)}
    hashes = [content_hash(file) for file in sorted(files)]
    return _hashed([__version__, path.stem, hashes])


def _named_files(word: str, folder: Path) -> Iterator[Path]:
    """Files that a word of a scenario may stand for, with those beside them."""
    if not word.strip() or len(word) > _LONGEST or "\0" in word:
        return
    if "/" not in word:
        yield from (resource("config", kind, f"{word}.yaml") for kind in _KINDS)
    for place in (folder / word, Path(word).expanduser()):
        yield place.resolve()
        if place.name and place.suffix:
            yield from (place.with_suffix(ending).resolve() for ending in _BESIDE)


def _words(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for item in value.values() for word in _words(item)]
    if isinstance(value, list):
        return [word for item in value for word in _words(item)]
    return [value] if isinstance(value, str) else []


def _hashed(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
