# SPDX-License-Identifier: Apache-2.0
"""docs/humans.md has every name of the manual, and what it says works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

import humans_sim as hs
from humans_sim.cli.commands import app
from humans_sim.observation.markers import write_trc

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "humans.md"
NAMES = ROOT / "test" / "data" / "humans_names.txt"
IDENTIFIERS = (
    r"\b[A-Za-z]\w*(?:\#\w+)?\.(?:sci|c|h|maple|mw|csv|traj3)\b",  # files
    r"\b(?=\w*[a-z])[A-Z]\w*[a-z0-9][A-Z]\w*\b",  # TwoWords
    r"\b[A-Z]{2,}[a-z]\w*[A-Z]\w*\b",  # FESSwingUp
    r"\b[a-z]+_[a-z]\w+\b",  # two_words
    r"\b(?:N[A-Z]{3,}|QREC|TOBS|TUTILISES|[A-Z]*STATE|QDOT)\b",
)
NO_NAMES = (
    # symbols with an index, rows of the tables that are printed in part, LaTeX
    r"[a-zA-Z]+_[0-9kint]|[a-z]+_[0-9]+|.*_(?:G|\d+)|varphi_.|[a-z]_[a-z]|k_e|au_1",
    r"text[a-z]*|math[a-z]*|begin\w*|(?:sub)?dot_.*",
    # halves of names that the lines of the text part, and words for numbers
    r"ConvertFromCsvTo|StaticCalciumRig|Data\.maple|Jacobian\.c|NumberOfTAgs",
    r"calcaneous_post|lateral_malleolus|fl_c_dat|NGUYEN|STATURE|ESTIMATED_STATURE",
    r"[LM]\d\d|Mn\d|[A-Z]+(?:JC|JCs)|T10|EJCStyloidProjection|(?:Hu)?MAnS",
)


def rows() -> list[list[str]]:
    """Rows of the page's tables."""
    found = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| "):
            assert len(cells) == 3, line
            found.append(cells)
    return found


def quoted(cell: str) -> list[str]:
    """What stands in backticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def names() -> set[str]:
    """Names of the manual, as kept beside the tests."""
    lines = NAMES.read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def table() -> list[tuple[list[str], str]]:
    """Names of the manual with what stands beside them."""
    return [(quoted(cells[0]), cells[2]) for cells in rows() if quoted(cells[0])]


def test_every_name_has_a_row() -> None:
    """No function, file, module, parameter or application of the manual is missing."""
    listed = [name for found, _ in table() for name in found]
    assert names() - set(listed) == set()
    assert len(listed) == len(set(listed)) > 200


def test_the_list_is_the_manuals(shared_data: Path) -> None:
    """Names in the manual's text are in the list, or are no names."""
    texts = [p.read_text() for p in (shared_data.parent / "seeds").glob("*.txt")]
    manual = [text for text in texts if text.startswith("HuMAnS User Documentation")]
    if not manual:
        pytest.skip("the text of the manual is not there")
    text = manual[0]
    start, end = text.index("Chapter 1\n\nGeneral"), text.index("\nBibliography\n")
    text = text[start:end].replace("\\_", "_")
    text = re.sub(r"(\w)-\n?(?=[A-Z][a-z]+[A-Z])", r"\1", text)
    found = {name for rule in IDENTIFIERS for name in re.findall(rule, text)}
    known = names() | set(hs.load_model("human36").tag_names)
    known |= {name.rsplit(".", 1)[0] for name in known}
    unknown = {n for n in found - known if not re.fullmatch("|".join(NO_NAMES), n)}
    assert unknown == set()
    for name in names():
        spelt = re.escape(name).replace("_", r"[_{\s]*").replace("\\ ", r"\s")
        assert re.search(spelt, text, re.I) or name in SYMBOLS, name


SYMBOLS = {"Tx_k", "Ty_k", "Tz_k"}
"""Names that the text has in another form of mathematics."""


@pytest.fixture(scope="module")
def namespace(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the page prepares."""
    snippet = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert snippet is not None
    prepared: dict[str, Any] = {}
    exec(compile(snippet.group(1), "humans.md", "exec"), prepared)
    return prepared


def items() -> list[str]:
    """What the page says of this package: in its text and last columns, quoted."""
    text = re.sub(r"```.*?```", "", PAGE.read_text(), flags=re.S)
    said = [line for line in text.splitlines() if not line.startswith("|")]
    every = quoted("\n".join(said)) + [i for cells in rows() for i in quoted(cells[2])]
    return [" ".join(item.split()) for item in every]


def is_command(item: str) -> bool:
    """Whether an item is typed into a shell."""
    return item.startswith("humans-sim ")


def is_path(item: str) -> bool:
    """Whether an item is a file of the repository."""
    return re.fullmatch(r"(?:docs|config|examples|test)/[\w./#-]+", item) is not None


def is_call(item: str) -> bool:
    """Whether an item is Python, and more than a word."""
    return not (is_command(item) or is_path(item)) and bool(re.search(r"[.(\[]", item))


def test_each_item_is_something() -> None:
    """Commands, files and calls; the rest are words without an argument or a dot."""
    kinds = [(is_command(i), is_path(i), is_call(i)) for i in items()]
    assert all(sum(kind) <= 1 for kind in kinds)
    words = {i for i, kind in zip(items(), kinds, strict=True) if not any(kind)}
    assert all(re.fullmatch(r"\w+", word) for word in words), words
    commands, paths, calls = (sum(column) for column in zip(*kinds, strict=True))
    assert commands > 15 and paths > 5 and calls > 100


def test_each_call_works(
    namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Calls are evaluated in the page's order, and files looked for."""
    monkeypatch.chdir(tmp_path)
    for found, here in table():
        assert quoted(here) or here.startswith("left out"), found
    for item in items():
        if is_path(item):
            assert (ROOT / item).is_file(), item
        elif is_call(item) or item in namespace:
            eval(compile(item, item, "eval"), namespace)


@pytest.mark.parametrize("item", sorted({item for item in items() if is_command(item)}))
def test_each_command_can_be_parsed(item: str) -> None:
    """Without running it, which is slower."""
    words = shlex.split(item)[1:]
    command = typer.main.get_command(app)
    context = command.make_context("humans-sim", list(words), resilient_parsing=True)
    name, rest = words[0], words[1:]
    chosen = command.get_command(context, name)  # type: ignore[attr-defined]
    assert chosen is not None, name
    chosen.make_context(name, rest)


COMMANDS = sorted({item for item in items() if is_command(item)})
ENDLESS = {"up": ("--headless", "--seconds", "5"), "adjust": ("--seconds", "5")}
"""What lets commands end that otherwise wait for a person."""


@pytest.fixture(scope="module")
def measures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of 9.6, with the recording of the package and its subject."""
    top = tmp_path_factory.mktemp("humans")
    folder = top / "Measures" / "Walking" / "Subject01"
    folder.mkdir(parents=True)
    recording = ROOT / "config" / "recordings" / "fl_c_dat#106.csv"
    shutil.copy(recording, folder)
    human = hs.load_model("human36")
    parameters = top / "Measures" / "ReconstructionParameters.csv"
    hs.write_reconstruction_parameters(parameters, "01", human)
    trial = hs.synthetic_trial(human, "canonical", duration=0.3)
    write_trc(trial, top / "walk.trc")
    (top / "leds.yaml").write_text(f"{human.tag_names[0]}: {trial.names[0]}\n")
    return top


@pytest.mark.study
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_runs(command: str, measures: Path) -> None:
    """As typed, where the manual's folders are; a graph for a moment."""
    words = shlex.split(command)[1:]
    if words[0] == "up":
        pytest.importorskip("humans_msgs")
    done = subprocess.run(
        [sys.executable, "-m", "humans_sim", *words, *ENDLESS.get(words[0], ())],
        cwd=measures,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "Measures" in words:  # the person is that of ReconstructionParameters.csv
        assert list(measures.rglob("RecPos106.csv")), done.stdout


def test_reasons_are_given() -> None:
    """What is left out has a reason."""
    for found, here in table():
        if "left out" in here:
            assert re.search(r"left out[^:]*: .{15}", here), found
