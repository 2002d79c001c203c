# SPDX-License-Identifier: Apache-2.0
"""Writes the files that are made, not kept: ``python tools/generate_files.py``.

``config/rviz``, ``config/foxglove`` and ``CHANGELOG.rst`` need PyYAML alone, so that
every build has them. The URDF and SRDF files of the package's models need the
library's own requirements: where these are missing, the build goes on without, since
nothing in the package reads them.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import changelog
from foxglove_layout import RUNS, foxglove_layout, run_layout
from graph_displays import CONFIG, ROOT, graph_names, read_graph
from rviz_file import rviz_file

URDF = ROOT / "urdf"
_NEEDED = ("coal", "numba", "numpy", "pinocchio", "scipy")
"""What the library builds models with."""


def texts() -> dict[Path, str]:
    """Paths and texts of all files but the URDFs."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files = {ROOT / "CHANGELOG.rst": changelog.convert(changes)}
    for name in graph_names():
        graph = read_graph(name)
        files[CONFIG / "rviz" / f"{name}.rviz"] = rviz_file(graph)
        files[CONFIG / "foxglove" / f"{name}.json"] = foxglove_layout(graph)
    for name, size in RUNS.items():
        files[CONFIG / "foxglove" / f"{name}.json"] = run_layout(size)
    return files


def write_texts() -> None:
    """Write what has changed."""
    for path, text in texts().items():
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def write_urdfs(folder: Path) -> list[Path]:
    """Write the package's models as URDF with YAML and SRDF; returns the URDF files."""
    sys.path.insert(0, str(ROOT))
    from humans_sim.contact.geometry.srdf import srdf
    from humans_sim.models import NAMES, load_model

    urdfs = []
    for name in NAMES:
        model = load_model(name)
        urdfs.append(model.save(folder / f"{name}.urdf"))
        (folder / f"{name}.srdf").write_text(srdf(model), encoding="utf-8")
    return urdfs


def urdfs_are_current() -> bool:
    """Whether all files are newer than the models and the code that writes them."""
    models = list((CONFIG / "models").glob("*.yaml"))
    kinds = ("urdf", "srdf")
    made = [URDF / f"{path.stem}.{kind}" for path in models for kind in kinds]
    if not all(path.is_file() for path in made):
        return False
    code = [ROOT / "humans_sim" / name for name in ("models", "contact/geometry")]
    sources = [*models, *(path for folder in code for path in folder.rglob("*.py"))]
    return min(map(_time, made)) > max(map(_time, sources))


def _time(path: Path) -> float:
    return path.stat().st_mtime


def main() -> None:
    """Write all files that can be written here."""
    write_texts()
    if urdfs_are_current():
        return
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"urdf/ is left without the models: no {', '.join(missing)} here")
    else:
        write_urdfs(URDF)


if __name__ == "__main__":
    main()
