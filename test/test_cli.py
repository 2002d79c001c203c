"""The command humans-sim, as a person types it."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from humans_sim.graphs import graph_names, read_graph


def run(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "humans_sim.cli", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "COLUMNS": "160", "NO_COLOR": "1"},
    )


def test_help_names_every_command() -> None:
    """--help lists the commands with a sentence each."""
    done = run("--help")
    assert done.returncode == 0
    for word in ("doctor", "models", "view", "up", "run", "check", "report"):
        assert word in done.stdout
        assert run(word, "--help").returncode == 0


def test_models() -> None:
    """The table shows the three models."""
    done = run("models")
    assert done.returncode == 0
    for word in ("human36", "bip", "khr1", "104.81", "1.741"):
        assert word in done.stdout


def test_doctor() -> None:
    """The doctor finds all that is needed here, and says what is not."""
    done = run("doctor")
    assert done.returncode == 0, done.stdout
    assert "pinocchio" in done.stdout and "rclpy" in done.stdout
    assert "Everything that is needed is here." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("view", "robby"), "no model is called 'robby'"),
        (("view", "human36", "--height", "-1"), "height must be"),
        (("up", "dance"), "no graph is called 'dance'"),
        (("run", "dance"), "no scenario is called 'dance'"),
        (("run", "bounce", "--model", "khr1"), "has no biped model"),
        (("run", "bounce", "--save", "run.xls"), "--save writes"),
        (("check", "nothing.npz"), "there is no such file"),
        (("report", "nothing.npz"), "there is no such file"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    """Errors are one clear line on stderr, exit code 1, no traceback."""
    done = run(*arguments)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_view_serves_on_this_machine_only() -> None:
    """The page answers on 127.0.0.1 and the command ends by itself."""
    command = [sys.executable, "-m", "humans_sim.cli", "view", "khr1"]
    command += ["--port", "18700", "--seconds", "6"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = ""
    while "http" not in url:
        url = process.stdout.readline()
    address = next(word for word in url.split() if word.startswith("http://127.0.0.1"))
    with urllib.request.urlopen(address, timeout=10) as page:
        assert b"<html" in page.read().lower()
    port = int(address.rsplit(":", 1)[1])
    table = Path("/proc/net/tcp")
    if table.exists():
        local = [line.split()[1] for line in table.read_text().splitlines()[1:]]
        bound = [entry for entry in local if entry.endswith(f":{port:04X}")]
        assert bound and all(entry.startswith("0100007F") for entry in bound)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_graphs_are_sound() -> None:
    """Each graph file names nodes that exist and a parameter file."""
    nodes = Path(__file__).parents[1] / "humans_sim" / "nodes"
    for name in graph_names():
        graph = read_graph(name)
        assert graph.pages <= set(graph.nodes)
        assert graph.latched <= set(graph.topics)
        for kind in graph.nodes:
            assert (nodes / f"{kind}.py").is_file()
