# SPDX-License-Identifier: Apache-2.0
"""``humans-sim doctor`` and ``humans-sim models``: what there is."""

from __future__ import annotations

from rich.table import Table

from humans_sim.cli.output import console, result
from humans_sim.core.errors import HumansError


def doctor() -> None:
    """Report what is installed, what is missing and how to fix it."""
    from humans_sim.core.doctor import examine

    findings = examine()
    result(findings=findings)
    table = Table(title="humans-sim doctor")
    for column in ("", "what", "found", "what to do"):
        table.add_column(column, overflow="fold")
    group, missing = "", 0
    for finding in findings:
        if finding.group != group:
            group = finding.group
            table.add_section()
        ok = finding.found is not None
        missing += finding.needed and not ok
        mark = "[green]ok" if ok else "[red]no" if finding.needed else "[yellow]--"
        found = finding.found or "missing"
        table.add_row(mark, finding.name, found, "" if ok else finding.fix)
    console.print(table)
    if missing:
        raise HumansError(f"{missing} needed part(s) missing: see the table")
    console.print("Everything that is needed is here.")


def models() -> None:
    """List the models that come with the package."""
    from humans_sim.models import NAMES, load_model

    table = Table(title="models")
    for column in ("name", "what it is"):
        table.add_column(column)
    for column in ("joints", "mass [kg]", "height [m]", "tags", "contacts"):
        table.add_column(column, justify="right")
    listed = []
    for name in NAMES:
        model = load_model(name)
        height = model.tags(model.neutral())[:, 2].max()
        table.add_row(
            name,
            model.title,
            str(len(model.joint_names)),
            f"{model.mass:.2f}",
            f"{height:.3f}",
            str(len(model.tag_names)),
            str(len(model.contact_names)),
        )
        listed.append(
            {
                "name": name,
                "title": model.title,
                "mass": model.mass,
                "height": height,
                "joints": model.joint_names,
                "tags": model.tag_names,
                "contacts": model.contact_names,
            }
        )
    result(models=listed)
    console.print(table)
    console.print("Any two-legged URDF or table (.yaml) is a model too: give its path.")
