# SPDX-License-Identifier: Apache-2.0
"""Simulate a scenario by its name: one call from a YAML file to a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.errors import ParameterError
from humans_sim.core.output_paths import check_output_file
from humans_sim.results.run import Run

_ENDINGS = (".npz", ".mcap", ".csv")


def simulate(
    scenario: str | Path,
    *,
    model: str | None = None,
    t_end: float | None = None,
    method: str | None = None,
    friction: float | None = None,
    feedback: str | None = None,
    save: Path | str | None = None,
    progress: bool | Callable[[int, int], None] | None = None,
    **options: Any,
) -> Run:
    """Simulate a scenario of the package, or of a file of one's own.

    A wrist gives a :class:`~humans_sim.anatomy.WristRun`.

    Args:
        scenario: its name (``humans-sim run`` lists them), or a YAML file.
        model: another biped model than the scenario's.
        t_end: another time at the end [s].
        method: ``event_driven`` or ``time_stepping``, instead of the scenario's.
        friction: Coulomb's coefficient of the ground, instead of the scenario's law.
        feedback: what the controller sees, ``true_state`` or ``observer``, instead of
            what the scenario says.
        save: file to write: ``.npz`` (as samples come, with little memory), ``.mcap``
            or ``.csv``.
        progress: as of :meth:`~humans_sim.dynamics.simulation.Simulation.run`.
        options: of the integration, instead of the scenario's: fields of
            :class:`~humans_sim.dynamics.stepper.Options`.

    Raises:
        ParameterError: there is no such scenario, or a value is out of its range; what
            is wrong is known before anything is simulated.
        SimulationError: it could not be simulated to the end; the error holds the run
            so far.

    Examples:
        >>> import humans_sim as hs
        >>> run = hs.simulate("drop", t_end=0.1)
        >>> run.check().ok, len(run.t)
        (True, 11)
    """
    if t_end is not None and not t_end > 0:
        raise ParameterError(f"t_end must be above 0 s, not {t_end}")
    path = None if save is None else Path(save)
    if path is not None:
        check_output_file(path, _ENDINGS)
    chosen = read_scenario(str(scenario)).with_changes(
        model=model,
        end=t_end,
        method=method,
        friction=friction,
        feedback=feedback,
        options=options,
    )
    if chosen.has_wrist and path is not None and path.suffix.lower() != ".npz":
        raise ParameterError(f"a wrist is written to .npz, not to '{path.name}'")
    if path is None or path.suffix.lower() == ".npz":
        return chosen.run(progress=progress, save=path)
    run = chosen.run(progress=progress)
    if path.suffix.lower() == ".mcap":
        run.to_mcap(path)
    else:
        run.to_csv(path)
    return run
