# SPDX-License-Identifier: Apache-2.0
"""What the README and the examples say, runs; pages as a site: test/docs."""

from __future__ import annotations

import pydoc
import re
import runpy
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from humans_sim.cli.commands import app
from humans_sim.models import NAMES

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "humans_sim"
DOCUMENTS = [
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if path.relative_to(ROOT).parts[:2] != ("docs", "reference")
]
"""What people read; pages below docs/reference are written by `make docs`."""


@pytest.mark.study
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=str)
def test_examples(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each example runs and prints something."""
    runpy.run_path(str(path))
    assert capsys.readouterr().out


def test_readme_snippet(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's Python snippet runs as it stands, and prints a clean run."""
    text = (ROOT / "README.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", text, re.S)
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), {})
    assert snippets and capsys.readouterr().out.rstrip().endswith("True")


def test_readme_is_short() -> None:
    """The README fits on a few screens, and leads to every guide."""
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    for guide in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{guide.name})" in text, guide.name


@pytest.mark.study
@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name
)
def test_guide_snippets(path: Path, monkeypatch: Any, tmp_path: Path) -> None:
    """The Python snippets of each guide run, one after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", path.read_text(), re.S):
        exec(compile(snippet, path.name, "exec"), names)


def test_readme_links_exist() -> None:
    """Links and pictures of the documents point at files that are there."""
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_docs_list_the_commands() -> None:
    """The table of commands is the command's own list; make targets exist."""
    text = (ROOT / "docs" / "cli.md").read_text()
    listed = set(re.findall(r"^\| `humans-sim ([\w-]+)", text, re.M))
    names = (command.callback.__name__ for command in app.registered_commands)
    commands = {name.replace("_", "-") for name in names}
    assert listed == commands | {group.name for group in app.registered_groups}
    readme = (ROOT / "README.md").read_text()
    targets = re.findall(r"^make (\w+)", readme, re.M)
    assert targets
    for line in targets:
        assert f"\n{line}:" in (ROOT / "Makefile").read_text()


def test_docs_list_the_models_and_messages() -> None:
    """The tables of models and interfaces are complete."""
    models = (ROOT / "docs" / "models.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \| \d+", models, re.M)) == set(NAMES)
    ros = (ROOT / "docs" / "ros.md").read_text()
    for folder in ("msg", "srv", "action"):
        for path in (ROOT / "msgs" / folder).iterdir():
            assert f"`{path.stem}`" in ros, path.name


def test_no_command_of_the_readme_is_misspelt() -> None:
    """Shell lines of the documents parse."""
    for document in DOCUMENTS:
        for block in re.findall(r"```sh\n(.*?)```", document.read_text(), re.S):
            for line in block.replace("\\\n", " ").splitlines():
                shlex.split(line, comments=True)


_PACKAGES = {
    "hs": "humans_sim",
    "humans_sim": "humans_sim",
    "markers": "humans_sim.observation.markers",
    "posture": "humans_sim.observation.posture",
}


def test_documents_name_what_exists() -> None:
    """`hs.Servo`, `posture.export.write_mcap` and their like can be imported."""
    pattern = rf"`({'|'.join(_PACKAGES)})((?:\.[A-Za-z_]\w*)+)[`(]"
    named = {
        (_PACKAGES[head] + rest, path.name)
        for path in DOCUMENTS
        for head, rest in re.findall(pattern, path.read_text())
        if path.name != "CHANGELOG.md"
    }
    assert len(named) > 90
    assert [] == [name for name in sorted(named) if not pydoc.locate(name[0])]


def test_architecture_names_files_that_exist() -> None:
    """Every file that the page about the architecture names is there."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`((?:humans_sim|config|test)/[\w/.-]+)`", text)
    assert len(named) > 30
    for name in named:
        assert (ROOT / name).exists(), name
    gate = (ROOT / "humans_sim/observation/posture/frame_kernels.py").read_text()
    assert "\ndef gate(" in gate


def test_architecture_lists_the_folders_in_import_order() -> None:
    """Its table has every folder of the library, in the order that is linted."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.split("## Folders")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.M)
    folders = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    order = [layer.strip("()") for layer in reversed(layers)]
    assert listed == [name for name in order if name in folders]
    assert set(listed) == folders
