# SPDX-License-Identifier: Apache-2.0
"""The summary of a run as lines of text: result, walk, events, physical checks."""

from __future__ import annotations

from humans_sim.analysis.gait import WalkSummary
from humans_sim.analysis.sinkage import sinkage_lines
from humans_sim.core.errors import HumansError
from humans_sim.results.events import FAILURE
from humans_sim.results.export import has_free_base
from humans_sim.results.run import Run


def run_text(run: Run) -> str:
    """What happened in a run; of a biped, also how it walked."""
    name = str(run.info.get("system", "run"))
    method = str(run.info.get("method", "unknown method"))
    lines = [
        f"{name}: {run.t[0]:g} to {run.t[-1]:g} s, {len(run)} samples, {method}",
        *_failures(run),
        *_walk(run),
        *_events(run),
        *_checks(run),
    ]
    return "\n".join(lines)


def _failures(run: Run) -> list[str]:
    return [
        f"stopped at {event.time:g} s: {event.detail.get('text', '')}"
        for event in run.events
        if event.kind == FAILURE
    ]


def _walk(run: Run) -> list[str]:
    """How a biped walked, where its model is still there."""
    if not has_free_base(run) or "bodies" in run.info:
        return []
    try:
        summary = WalkSummary.of_run(run)
    except HumansError as error:
        return [f"walk: n/a ({error})"]
    rows = [row for row in summary.rows() if row.section != "result"]
    lines = [f"  {row.name}: {row.value}" for row in rows]
    return [summary.headline, *lines, *(f"  {x}" for x in sinkage_lines(run))]


def _events(run: Run) -> list[str]:
    counts: dict[str, int] = {}
    for event in run.events:
        counts[event.kind] = counts.get(event.kind, 0) + 1
    text = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return [f"events: {text or 'none'}"]


def _checks(run: Run) -> list[str]:
    checked = run.check()
    failed, held = checked.failed, checked.held
    missing = [f.name for f in checked.findings if f.ok is None]
    rest = f"; n/a: {', '.join(missing)}" if missing else ""
    if not failed and not held:
        return [f"physical checks: none could be made{rest}"]
    if not failed:
        return [f"physical checks: all {len(held)} hold{rest}"]
    return [
        f"physical checks: {len(failed)} of {len(failed) + len(held)} do not hold"
        f"{rest}",
        *(
            f"  {f.name}: {f.value_text} {f.unit}, limit {f.limit_text}, {f.where}"
            for f in failed
        ),
    ]
