# SPDX-License-Identifier: Apache-2.0
"""Rows of a comparison as a table and as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from precision.costs import FLOOR, GOAL, OURS, PEER, Row


def table(scene: str, rows: Sequence[Row]) -> Table:
    """The rows of one scene, for a terminal."""
    shown = Table(title=scene, title_justify="left")
    shown.add_column("method", no_wrap=True)
    shown.add_column("setting", no_wrap=True)
    for title in ("wall [ms]", "error [m]", "to own limit [m]"):
        shown.add_column(title, justify="right")
    before = ""
    for row in rows:
        if before and row.method != before:
            shown.add_section()
        shown.add_row(
            row.method if row.method != before else "",
            row.setting,
            "failed" if row.wall is None else f"{1e3 * row.wall:.2f}",
            "" if row.error is None else f"{row.error:.1e}",
            "" if row.own is None else f"{row.own:.1e}",
        )
        before = row.method
    return shown


LOOKS = {
    OURS: ("#0072b2", "o"),
    "time stepping": ("#009e73", "s"),
    f"{PEER} Euler": ("#d55e00", "^"),
    f"{PEER} RK4": ("#cc79a7", "v"),
}


def plot(rows: Sequence[Row], path: Path) -> None:
    """Error over wall time, one panel for each scene."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row.scene for row in rows))
    figure, axes = plt.subplots(
        1, len(names), figsize=(4.6 * len(names), 4.8), sharey=True, squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        for method, (colour, marker) in LOOKS.items():
            own = [r for r in rows if r.scene == name and r.method == method]
            done = [r for r in own if r.wall is not None and r.error is not None]
            if not done:
                continue
            style = {"color": colour, "marker": marker}
            ax.plot(
                *_curve(done, "error"),
                **style,
                markersize=5,
                linewidth=1.2,
                label=method,
                zorder=3 if method == OURS else 2,
            )
            limit = [r for r in done if r.own is not None]
            if limit:
                ax.plot(
                    *_curve(limit, "own"),
                    **style,
                    markersize=7,
                    markerfacecolor="none",
                    linestyle=":",
                    linewidth=1.0,
                    label=f"{method}, to its own limit",
                )
        ax.axhline(GOAL, color="0.4", linewidth=0.8, linestyle="--", label="goal")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(name)
        ax.set_xlabel("wall time [ms]")
        ax.grid(alpha=0.3)
    axes[0][0].set_ylabel("largest error of a contact point [m] (from 1e-16)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="lower center", ncols=len(handles), frameon=False
    )
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=150)


def _curve(rows: Sequence[Row], error: str) -> tuple[list[float], list[float]]:
    """Wall times [ms] and errors [m] of rows that have both."""
    return (
        [1e3 * (row.wall or 0.0) for row in rows],
        [max(getattr(row, error), FLOOR) for row in rows],
    )
