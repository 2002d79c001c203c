# SPDX-License-Identifier: Apache-2.0
"""The command humans-sim, as a person types it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typed import run_command, type_command

import humans_sim as hs
from humans_sim.applications.graphs import graph_names, read_graph
from humans_sim.cli.options import Integrator, Method
from humans_sim.dynamics.integrators import NAMES as INTEGRATORS
from humans_sim.dynamics.simulation import METHODS
from humans_sim.observation.markers.assemble import METRES, UP_AXES
from humans_sim.observation.reconstruction_options import UNIT_CHOICES, UP_CHOICES


def run(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "humans_sim", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "COLUMNS": "160", "NO_COLOR": "1"},
    )


@pytest.mark.study
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


@pytest.mark.study
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("adjust",), 2, "give a recording, or --example"),
        (("view", "robby"), 2, "no model is called 'robby'"),
        (("view", "human36", "--height", "-1"), 2, "--height must be"),
        (("view", "khr1", "--port", "99999"), 2, "at most 65535, not 99999"),
        (("view", "khr1", "--seconds", "-5"), 2, "above 0, not -5"),
        (("up", "dance"), 2, "no graph is called 'dance'"),
        (("run", "dance"), 2, "no scenario is called 'dance'"),
        (("run", "bounce", "--model", "khr1"), 2, "has no biped model"),
        (("run", "bounce", "--save", "run.xls"), 2, ".npz, .mcap or .csv is written"),
        (("run", "bounce", "--plot", "run.xyz"), 2, ".png, .svg or .pdf is written"),
        (("run", "bounce", "--save", "none/run.npz"), 2, "there is no folder none"),
        (("run", "drop", "--animate", "drop.gif/x.gif"), 2, "there is no folder"),
        (("run", "push-box", "--animate", "box.gif"), 2, "as a page .html"),
        (("run", "drop", "--end", "inf"), 2, "--end must be a finite number above 0"),
        (("run", "drop", "--method", "magic"), 2, "'event_driven', 'time_stepping'"),
        (("run", "drop", "--backwards"), 2, "No such option: --backwards"),
        (("dance",), 2, "No such command 'dance'"),
        (("check", "nothing.npz"), 1, "there is no such file"),
        (("report", "nothing.npz"), 1, "there is no such file"),
    ],
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...], code: int, message: str
) -> None:
    """Errors are one clear line on stderr before any work; 2 if it was the typing."""
    done = run_command(*arguments)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1 and not done.stdout
    assert done.stderr.startswith("humans-sim: ") and message in done.stderr


def test_without_a_command() -> None:
    """Help, and the exit code of wrong usage, which click has since 8.2."""
    done = run_command()
    click = tuple(int(number) for number in version("click").split(".")[:2])
    assert done.returncode == (2 if click >= (8, 2) else 0)
    assert "reconstruct" in done.stdout + done.stderr


@pytest.mark.study
@pytest.mark.parametrize("words", [("models",), ("models", "--json"), ("--help",)])
def test_a_full_device(words: tuple[str, ...]) -> None:
    """What cannot be printed is a failure, in one line."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "humans_sim", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "humans-sim: standard output: No space left on device"
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


@pytest.mark.study
@pytest.mark.parametrize("words", [("models",), ("models", "--json"), ("--help",)])
def test_a_closed_pipe(words: tuple[str, ...]) -> None:
    """Nobody reads any more: no word about it."""
    process = type_command(*words)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait(60) == 141
    assert "humans-sim:" not in errors and "Exception" not in errors


@pytest.mark.study
def test_what_is_not_written_is_said(tmp_path: Path) -> None:
    """A file for which there is no room: one line with its name, nothing left."""
    limit = 1000  # bytes a file, as a full device would refuse more
    command = [sys.executable, "-m", "humans_sim", "run", "bounce", "--end", "0.1"]
    subprocess.run(command, cwd=tmp_path, check=True)  # compiled kernels are kept
    done = subprocess.run(
        [*command, "--save", "run.npz"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=lambda: (
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        ),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1, done.stderr
    assert "humans-sim: run.npz: cannot write the file: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_run_as_a_module() -> None:
    """Python -m humans_sim is the command."""
    done = run_command("--version")
    assert done.returncode == 0
    assert done.stdout == f"humans_sim {hs.__version__}\n"


def test_options_take_what_the_library_takes() -> None:
    """The choices that help lists are those of the library."""
    assert set(Method) == set(METHODS)
    assert set(Integrator) == set(INTEGRATORS)
    assert set(UP_CHOICES) == set(UP_AXES)
    assert set(UNIT_CHOICES) <= set(METRES)


def complete(*words: str) -> list[str]:
    """What a shell completes the last word with."""
    done = run_command(
        _HUMANS_SIM_COMPLETE="complete_bash",
        COMP_WORDS=" ".join(["humans-sim", *words]),
        COMP_CWORD=str(len(words)),
    )
    return done.stdout.split()


@pytest.mark.study
@pytest.mark.parametrize(
    ("words", "completions"),
    [
        (("run", "khr1"), ["khr1-fall", "khr1-walk"]),
        (("view", "hu"), ["human", "human36"]),
        (("up", "walk-"), ["walk-bip"]),
        (("calibrate", "x.trc", "--marker-set", "ca"), ["canonical", "cast-ior"]),
        (("run", "drop", "--method", "e"), ["event_driven"]),
        (("kondo", "play", "gr"), ["greeting"]),
    ],
)
def test_completion(words: tuple[str, ...], completions: list[str]) -> None:
    """Names of the package's files and choices are completed."""
    assert complete(*words) == completions


def test_completion_is_light() -> None:
    """Nothing heavy is loaded for it: a person waits."""
    script = "import humans_sim.cli.main, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "scipy", "pinocchio", "numba", "matplotlib", "viser"}
    assert not heavy & set(done.stdout.split())


def test_flags_have_no_type() -> None:
    """Help shows --walk, not --walk <bool>."""
    assert "<bool>" not in run_command("view", "--help").stdout


@pytest.mark.study
def test_view_serves_on_this_machine_only() -> None:
    """The printed address answers, with its token; the command ends by itself."""
    command = [sys.executable, "-m", "humans_sim", "view", "khr1"]
    command += ["--port", "18700", "--seconds", "6"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = ""
    while "http" not in url:
        url = process.stdout.readline()
    address = next(word for word in url.split() if word.startswith("http://127.0.0.1"))
    with urllib.request.urlopen(address, timeout=10) as page:
        assert b"<html" in page.read().lower()
    port = urlsplit(address).port
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10)
    table = Path("/proc/net/tcp")
    if table.exists():
        local = [line.split()[1] for line in table.read_text().splitlines()[1:]]
        bound = [entry for entry in local if entry.endswith(f":{port:04X}")]
        assert bound and all(entry.startswith("0100007F") for entry in bound)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_graphs_are_sound() -> None:
    """Each graph file names nodes that exist and a parameter file."""
    nodes = Path(__file__).parents[2] / "humans_sim" / "nodes"
    for name in graph_names():
        graph = read_graph(name)
        assert graph.pages <= set(graph.nodes)
        assert graph.latched <= set(graph.topics)
        for kind in graph.nodes:
            files = (nodes / f"{kind}.py", nodes / kind / "node.py")
            assert any(file.is_file() for file in files)


def test_runs_load_little() -> None:
    """What simulates a scenario and checks it loads no libraries of other commands."""
    program = (
        "import sys, humans_sim.applications.scenarios, humans_sim.cli.stored_runs, "
        "humans_sim.analysis.summary, humans_sim.results.overlaps; "
        "heavy = {'trimesh', 'scipy.signal', 'scipy.stats', 'matplotlib', 'PIL'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
