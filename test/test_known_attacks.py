# SPDX-License-Identifier: Apache-2.0
"""Attacks that once worked, or work elsewhere, each by its name.

Here they come as they would from outside: as files that are loaded, or as words of a
command. docs/safety.md says which test shows what else.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.batch.record import Ledger
from humans_sim.applications.graphs import read_graph
from humans_sim.applications.scenarios import read_scenario
from humans_sim.cli.commands import run_app
from humans_sim.core.errors import HumansError
from humans_sim.core.yaml_file import read_yaml
from humans_sim.dynamics import problems
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.motion.motion_file import read_motion
from humans_sim.results.record import recorded_model

READERS: dict[str, Callable[[Path], object]] = {
    "run.npz": hs.load_run,
    "posture.npz": hs.load_reconstruction,
    "scenario.yaml": lambda path: read_scenario(str(path)).prepare(),
    "graph.yaml": lambda path: read_graph(str(path)),
    "robot.yaml": load_robot,
    "subject.yaml": hs.load_subject,
    "walk.trc": hs.read_markers,
    "walk.c3d": hs.read_markers,
    "walk.csv": hs.read_markers,
    "motion.csv": read_motion,
    "model.urdf": hs.load_model,
    "model.xacro": hs.load_model,
}
SCENARIO = "title: x\nmodel: {}\ntime: {{end: 1, sampling_period: 0.1}}\n"


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    """A sound run."""
    ball = hs.Simulation(problems.bouncing_ball(0.5))
    return ball.run(np.array([0.2]), t_end=0.05).save(tmp_path / "sound.npz")


class Bait:
    """What an attack would leave behind if it ran."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "it-ran"
        self.python = f"__import__('os').system('touch {self.path}')"

    def untouched(self) -> bool:
        """Whether nothing ran."""
        return not self.path.exists()


@pytest.fixture
def bait(tmp_path: Path) -> Bait:
    """A file that must not come to be."""
    return Bait(tmp_path)


def xacro(folder: Path, expression: str) -> Path:
    """A robot with an expression."""
    path = folder / "evil.xacro"
    path.write_text(
        '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f'<xacro:property name="w" value="{expression}"/>'
        '<link name="${w}"/></robot>'
    )
    return path


ESCAPES = (
    "${(lambda: PYTHON)()}",
    "${[c for c in ().__class__.__base__.__subclasses__()]}",
    "${(lambda f: f.__globals__)(lambda: 0)}",
    "${''.__class__.__mro__[1].__subclasses__()}",
    "${PYTHON}",
    "$(eval PYTHON)",
    "${load_yaml('/etc/passwd')}",
    "${xacro.load_yaml('/etc/passwd')}",
    "$(find ..)",
    "$(env HOME)",
    "${[1] * 9**9 * 9**9}",
    "${9**9**9**9}",
    "${'a' * 10**12}",
    "${max(range(10**12))}",
)


@pytest.mark.parametrize("escape", ESCAPES)
def test_xacro_escape(escape: str, tmp_path: Path, bait: Bait) -> None:
    """Lambdas, attributes, eval and endless arithmetic in a xacro run nothing."""
    path = xacro(tmp_path, escape.replace("PYTHON", bait.python))
    with pytest.raises(hs.errors.ModelFileError, match=r"evil\.xacro"):
        hs.load_model(path)
    assert bait.untouched()


@pytest.mark.parametrize("name", ["evil.xacro", "evil.urdf.xacro", "./evil.xacro"])
def test_scenario_that_names_a_xacro(name: str, tmp_path: Path, bait: Bait) -> None:
    """A scenario cannot have a xacro expanded, sound or not."""
    xacro(tmp_path, f"${{(lambda: {bait.python})()}}")
    (tmp_path / "scene.yaml").write_text(SCENARIO.format(name))
    with pytest.raises(HumansError):
        read_scenario(str(tmp_path / "scene.yaml")).prepare()
    assert bait.untouched()


def test_run_that_names_a_xacro(run_file: Path, tmp_path: Path, bait: Bait) -> None:
    """Nor can the header of a run."""
    evil = xacro(tmp_path, f"${{(lambda: {bait.python})()}}")
    with np.load(run_file) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays["header"]))
    header["info"]["model"] = {"name": str(evil)}
    np.savez(
        tmp_path / "evil.npz", **{**arrays, "header": np.array(json.dumps(header))}
    )
    run = hs.load_run(tmp_path / "evil.npz")
    with pytest.raises(HumansError, match="xacro"):
        recorded_model(run.info)
    assert bait.untouched()


@pytest.mark.parametrize("name", READERS)
def test_fifo_and_devices(name: str, tmp_path: Path) -> None:
    """A pipe that nobody writes to, and endless devices, are refused at once."""
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(HumansError, match="not a regular file"):
        READERS[name](path)
    for device in ("/dev/zero", "/dev/random", "/dev/stdin"):
        if not Path(device).exists():
            continue
        path.unlink()
        path.symlink_to(device)
        with pytest.raises(HumansError):
            READERS[name](path)


def test_fifo_in_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same as words of a command: one line, and the code of a failure."""
    for words in (["run", "x.yaml"], ["check", "x.npz"], ["reconstruct", "x.trc"]):
        path = tmp_path / words[1]
        os.mkfifo(path)
        assert run_app([words[0], str(path)]) in (1, 2)
        line = capsys.readouterr().err.strip()
        assert "this is a pipe, not a" in line
        assert "\n" not in line


YAML_BOMBS = {
    "depth": "[" * 100_000,
    "maps": "{a: " * 50_000,
    "dashes": "- " * 100_000,
    "aliases": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{chr(98 + k)}: &{chr(98 + k)} [{', '.join(['*' + chr(97 + k)] * 9)}]\n"
        for k in range(20)
    ),
    "recursion": "a: &a [*a]\n",
    "merge": "a: &a {<<: *a}\n",
    "object": "!!python/object/apply:os.system ['touch it-ran']\n",
    "name": "a: !!python/name:os.system\n",
    "digits": f"title: {'9' * 100_000}\n",
    "binary": "a: !!binary AAAA\n",
}


@pytest.mark.parametrize("bomb", YAML_BOMBS)
def test_yaml_bombs(bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nesting, aliases of aliases, tags of Python: refused, nothing runs or grows."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bomb.yaml"
    path.write_text(YAML_BOMBS[bomb])
    for name in ("scenario.yaml", "graph.yaml", "robot.yaml", "subject.yaml"):
        with pytest.raises(HumansError, match=r"bomb\.yaml"):
            READERS[name](path)
    if bomb != "digits":  # they are a text
        with pytest.raises(HumansError):
            read_yaml(path).plain()
    assert not (tmp_path / "it-ran").exists()


XML_BOMBS = {
    "entities": '<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;">]>'
    '<robot name="x"><link name="&b;"/></robot>',
    "file": '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    '<robot name="x"><link name="&a;"/></robot>',
    "depth": "<a>" * 100_000,
}


@pytest.mark.parametrize("bomb", XML_BOMBS)
@pytest.mark.parametrize("suffix", ["urdf", "xacro"])
def test_xml_bombs(bomb: str, suffix: str, tmp_path: Path) -> None:
    """Entities, files by entity and endless nesting in a URDF or a xacro."""
    path = tmp_path / f"bomb.{suffix}"
    path.write_text(XML_BOMBS[bomb])
    with pytest.raises(hs.errors.ModelFileError) as caught:
        hs.load_model(path)
    assert "root:" not in str(caught.value)


def npz(path: Path, **members: bytes) -> Path:
    """An archive of members as they are given."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy(array: np.ndarray, **options: bool) -> bytes:
    """An array as numpy writes it."""
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def test_zip_bomb(run_file: Path, tmp_path: Path) -> None:
    """An archive of some hundred kilobytes that holds gigabytes is not unpacked."""
    with zipfile.ZipFile(run_file) as archive:
        members = {n[:-4]: archive.read(n) for n in archive.namelist()}
    shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1), }"
    head = b"\x93NUMPY\1\0" + len(shape).to_bytes(2, "little") + shape.encode()
    bomb = npz(tmp_path / "bomb.npz", **{**members, "q": head + bytes(300 << 20)})
    assert bomb.stat().st_size < 1 << 20
    for lazy in (False, True):
        with pytest.raises(hs.errors.RunFileError, match="would become"):
            hs.load_run(bomb, lazy)
    # One that claims to be small, and is not.
    small = npz(tmp_path / "lie.npz", **{**members, "q": head + bytes(1000)})
    with pytest.raises(hs.errors.RunFileError, match="size that it says"):
        hs.load_run(small)


class _Runs:
    """Runs a command where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self._path}",)


def test_pickle_in_an_archive(run_file: Path, tmp_path: Path, bait: Bait) -> None:
    """A pickle in place of an array, of the header, or of the whole file."""
    with zipfile.ZipFile(run_file) as archive:
        members = {n[:-4]: archive.read(n) for n in archive.namelist()}
    evil = np.empty(1, object)
    evil[0] = _Runs(bait.path)
    content = npy(evil, allow_pickle=True)
    for name in ("q", "header"):
        path = npz(tmp_path / "evil.npz", **{**members, name: content})
        for read in (hs.load_run, hs.load_reconstruction):
            with pytest.raises(HumansError, match="not a"):
                read(path)
    (tmp_path / "whole.npz").write_bytes(pickle.dumps(_Runs(bait.path)))
    with pytest.raises(hs.errors.RunFileError):
        hs.load_run(tmp_path / "whole.npz")
    assert bait.untouched()


def test_header_that_is_python(run_file: Path, tmp_path: Path, bait: Bait) -> None:
    """Heads of arrays are read by their form, not as Python."""
    with zipfile.ZipFile(run_file) as archive:
        members = {n[:-4]: archive.read(n) for n in archive.namelist()}
    form = f"{{'descr': {bait.python}, 'fortran_order': False, 'shape': (1,), }}"
    deep = "(" * 50_000
    for text in (form, deep):
        head = b"\x93NUMPY\2\0" + len(text).to_bytes(4, "little") + text.encode()
        path = npz(tmp_path / "evil.npz", **{**members, "q": head + bytes(8)})
        with pytest.raises(hs.errors.RunFileError, match="no array"):
            hs.load_run(path)
    assert bait.untouched()


HUGE = "9" * 100_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scenario.yaml", SCENARIO.format("khr1").replace("end: 1", f"end: {HUGE}")),
        ("scenario.yaml", SCENARIO.format("khr1").replace("end: 1", "end: 1e400")),
        (
            "scenario.yaml",
            "title: x\nproblem: beads\nparameters: {count: 1000000000}\n"
            "time: {end: 1, sampling_period: 0.1}\n",
        ),
        ("motion.csv", f"{HUGE},1\n"),
        ("walk.trc", f"PathFileType\t4\t(X/Y/Z)\tx\nDataRate\n{HUGE}\n"),
        ("model.urdf", f'<robot name="x"><link name="{HUGE}"/><link/></robot>'),
    ],
)
def test_huge_numbers(name: str, text: str, tmp_path: Path) -> None:
    """More digits than Python converts, and counts that would fill the memory."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(HumansError) as caught:
        READERS[name](path)
    assert len(str(caught.value)) < 2000


def test_json_bombs_in_records(tmp_path: Path) -> None:
    """The record of a batch that nests without end is a trial to do again."""
    ledger = Ledger(tmp_path)
    ledger.write("trial", {"frames": 1})
    (record,) = (p for p in ledger.home.rglob("*") if p.is_file())
    assert ledger.read("trial") == {"frames": 1}
    for bomb in ("[" * 100_000, '{"a":' * 100_000, '{"a": ' + HUGE + "}"):
        record.write_text(bomb)
        assert ledger.read("trial") == {}


def test_a_run_that_speaks_to_the_terminal(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Words out of a file are shown: no escape sequence, no markup, no new line."""
    with np.load(run_file) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays["header"]))
    header["names"] = ["\x1b]0;owned\x07[/nothing]\nhumans-sim: ok"]
    header["info"]["system"] = "\x1b[2J[link=http://x]ball"
    arrays["header"] = np.array(json.dumps(header))
    np.savez(tmp_path / "evil.npz", **arrays)
    assert run_app(["check", str(tmp_path / "evil.npz")]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\x07" not in shown
    assert "[link=http://x]ball" in shown
