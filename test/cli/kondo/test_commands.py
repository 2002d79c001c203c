# SPDX-License-Identifier: Apache-2.0
"""humans-sim kondo, as a person types it, with emulated boards on a real port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from unhurried import type_unhurried

import humans_sim as hs
from humans_sim.cli.kondo.commands import kondo_commands
from humans_sim.core.resources import resource
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults
from humans_sim.kondo.emulation.virtual_board import VirtualBoard
from humans_sim.kondo.motion.motion_file import read_motion
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import CHANNELS
from humans_sim.kondo.protocol.serial_port import (
    PortChoiceError,
    choose_port,
    serial_ports,
)

GREETING = resource("config", "motions", "greeting.csv")
HEAD = 5
PATIENCE = 60.0
Process = subprocess.Popen[str]


@pytest.fixture
def boards(tmp_path: Path) -> Iterator[Emulator]:
    """Boards of a KHR-1, in this process; the commands run in others."""
    with Emulator(link=tmp_path / "port") as made:
        yield made


def start(*words: object, port: str = "") -> Process:
    """Type a command, which runs in a process of its own."""
    known = {k: v for k, v in os.environ.items() if k != "KONDO_PORT"}
    known |= {"COLUMNS": "160", "NO_COLOR": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "humans_sim", "kondo", *map(str, words)],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=known | ({"KONDO_PORT": port} if port else {}),
    )


def kondo(*words: object, port: str = "") -> tuple[int, str, str]:
    """Type a command here, and wait for it: exit code, output, one line of error."""
    typed = ["kondo", *map(str, words)]
    done = type_unhurried(typed, COLUMNS="160", NO_COLOR="1", KONDO_PORT=port)
    if done.exception is None or isinstance(done.exception, SystemExit):
        return done.exit_code, done.output, ""
    assert isinstance(done.exception, hs.HumansError), done.exception
    return 1, done.output, str(done.exception)


def wait(condition: Callable[[], bool]) -> None:
    """Until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def driven(boards: Emulator) -> bool:
    """Whether a servo is driven."""
    return any(any(board.driven) for board in boards.boards)


def test_the_guide_lists_the_commands() -> None:
    """The table of docs/kondo.md is the command's own list."""
    text = (Path(__file__).parents[3] / "docs" / "kondo.md").read_text()
    table = text.split("| `humans-sim kondo` |")[1].split("\n\n")[0]
    named = set(re.findall(r"^\| `(\w+)", table, re.M))
    assert named == set(kondo_commands().commands)


def test_info_moves_nothing(boards: Emulator) -> None:
    """Boards, servos, motions, the line: printed, while no servo is commanded."""
    boards.boards[0].memory.lengths[4] = boards.boards[1].memory.lengths[4] = 29
    code, out, _ = kondo("info", port=boards.port)
    assert code == 0
    for word in ("board 0", "board 1", "line: an answer after", "l_shoulder_pitch"):
        assert word in out
    assert "motions in the boards' memory: 4 (29 poses)" in out
    assert not driven(boards)


@pytest.mark.study
def test_info_says_which_boards_are_silent(boards: Emulator) -> None:
    """A board with another id is found, and reported."""
    boards.boards[1].hear(rcb1.SetId(7), 0.0)
    code, _, errors = kondo("info", "--port", boards.port)
    assert code == 1
    assert "no answer of board 1 (heard: 0, 7)" in errors


def test_pose_then_home_then_free(boards: Emulator) -> None:
    """Joints are led there, the servos hold; then they are limp."""
    code, out, _ = kondo("pose", "head_yaw=10", "--port", boards.port)
    assert code == 0
    assert "head_yaw" in out and "+10.0" in out and "the servos hold" in out
    assert driven(boards) and boards.angles()[HEAD] == 100.0
    code, out, _ = kondo("home", "--free", port=boards.port)
    assert code == 0 and "the servos are limp" in out
    assert boards.angles()[HEAD] == 90.0 and not driven(boards)


def test_energize_says_what_moves(boards: Emulator) -> None:
    """Nothing is sent before Enter; then the servos hold where they are."""
    knee = 15 - 1
    legs = list(boards.boards[1].memory.home)
    legs[0] = 115  # the left hip goes to 105
    boards.boards = (boards.boards[0], VirtualBoard(1, legs))
    code, out, errors = kondo("energize", port=boards.port)
    assert code == 1 and "give --yes" in errors
    assert "l_hip_roll moves by 10 degrees" in out and not driven(boards)
    code, out, _ = kondo("energize", "--yes", port=boards.port)
    assert code == 0 and "the servos hold this pose" in out
    assert driven(boards)
    wait(lambda: boards.angles()[CHANNELS] <= 106.0)
    assert boards.angles()[knee] == legs[knee - CHANNELS]


def test_links_are_kept_apart(boards: Emulator) -> None:
    """Crossed legs are refused before anything moves, unless that is turned off."""
    before = boards.angles()
    crossed = ("pose", "l_hip_roll=-15", "r_hip_roll=-15", "--port", boards.port)
    code, _, errors = kondo(*crossed)
    assert code == 1 and re.search("_(shank|ankle|foot) would touch", errors)
    assert boards.angles() == before
    code, out, _ = kondo(*crossed, "--no-self-collision")
    assert code == 0 and "self-collision is not checked" in out
    assert boards.angles() != before


def test_play_store_save(boards: Emulator, tmp_path: Path) -> None:
    """A motion is stored, played from the memory, and saved as it was."""
    code, out, _ = kondo("play", GREETING, "--store", 3, port=boards.port)
    assert code == 0 and "read back" in out
    assert not driven(boards)
    code, _, errors = kondo("play", GREETING, "--store", 3, port=boards.port)
    assert code == 1 and "--overwrite" in errors
    code, out, _ = kondo("play", "--stored", 3, "--free", port=boards.port)
    assert code == 0, out
    assert "heard in time by all boards" in out and not driven(boards)
    last = read_motion(GREETING).poses[-1].channels
    assert boards.angles()[HEAD] == pytest.approx(last[HEAD], abs=1e-6)
    copy = tmp_path / "copy.csv"
    assert kondo("save", 3, copy, port=boards.port)[0] == 0
    assert read_motion(copy).poses == read_motion(GREETING).poses


def test_lost_set_points_are_a_failure(tmp_path: Path) -> None:
    """A line too slow for the set points: the share is printed, exit code 1."""
    slow = LineFaults(late=1.0, delay=0.02)
    short = tmp_path / "short.csv"
    short.write_text("".join(GREETING.read_text().splitlines(keepends=True)[:2]))
    with Emulator(link=tmp_path / "slow", faults=slow) as boards:
        code, out, errors = kondo("play", short, "--free", port=boards.port)
    assert code == 1
    assert "heard in time by all boards" in out and "the servos are limp" in out
    assert "% of the set points were heard in time (at least 50 %" in errors


def test_a_joint_that_does_not_come_is_a_failure(boards: Emulator) -> None:
    """A servo that is out: reported, and the exit code is 1."""
    held = list(boards.angles())
    boards.boards[0].servo_angles = lambda _: held[:CHANNELS]  # type: ignore[misc]
    code, out, errors = kondo("pose", "head_yaw=20", "--free", port=boards.port)
    assert code == 1 and "the servos are limp" in out
    assert "not there (more than 5 degrees off): head_yaw" in errors


@pytest.mark.study
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_interrupts_stop_and_free(boards: Emulator, number: int, code: int) -> None:
    """Ctrl-C, or a signal to end: no servo is driven, and the port is free."""
    process = start("play", GREETING, "--repeat", 100, port=boards.port)
    wait(lambda: driven(boards))
    time.sleep(0.3)
    process.send_signal(number)
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert "stopped: the servos are limp" in out and not errors
    assert not driven(boards)
    assert kondo("free", port=boards.port)[0] == 0


def test_interrupted_servos_may_hold(boards: Emulator) -> None:
    """--on-stop hold leaves them where they are."""
    process = start(
        *("play", GREETING, "--repeat", 100, "--on-stop", "hold"), port=boards.port
    )
    wait(lambda: driven(boards))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "the servos hold" in out
    before = boards.angles()
    time.sleep(0.2)
    assert driven(boards) and np.abs(np.subtract(boards.angles(), before)).max() < 5.0


def test_an_unplugged_line_is_reported(boards: Emulator) -> None:
    """No hang: the reason, and what the owner should do."""
    process = start("play", GREETING, "--repeat", 100, port=boards.port)
    wait(lambda: driven(boards))
    boards.unplug()
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "switch the robot off" in out and "lost" in errors


@pytest.mark.study
def test_record(boards: Emulator, tmp_path: Path) -> None:
    """Poses are taken from limp servos; the motion can be read."""
    values = list(boards.angles())
    for k, board in enumerate(boards.boards):
        board.servo_angles = lambda _, k=k: values[k * CHANNELS : (k + 1) * CHANNELS]  # type: ignore[misc]
    path = tmp_path / "taught.csv"
    process = start("record", path, "--speed", 5, port=boards.port)
    assert process.stdin is not None
    process.stdin.write("\n\n")
    process.stdin.flush()
    wait(path.exists)
    values[HEAD] = 110.0
    out, _ = process.communicate("\nq\n", timeout=PATIENCE)
    assert process.returncode == 0 and "2 poses written" in out
    assert [p.channels[HEAD] for p in read_motion(path).poses] == [90, 110]
    # Taken by the clock until Ctrl-C: what was taken is kept.
    other = tmp_path / "other.csv"
    process = start("record", other, "--period", 0.1, port=boards.port)
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    wait(lambda: other.exists() and len(read_motion(other).poses) > 2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert f"{len(read_motion(other).poses)} poses written" in out


def test_trim(boards: Emulator) -> None:
    """A trim is written, and shown."""
    code, out, _ = kondo("trim", "l_knee", "--port", boards.port, "--", -3)
    assert code == 0 and "-3 now; read back" in out
    assert boards.boards[1].memory.trims[2] == 17
    code, out, _ = kondo("trim", port=boards.port)
    assert code == 0 and "The board adds its trim" in out
    assert not driven(boards)


@pytest.mark.study
def test_walk(boards: Emulator) -> None:
    """The package's steps go over the line."""
    code, out, _ = kondo("walk", "--steps", 1, "--free", port=boards.port)
    assert code == 0
    assert "1 step with" in out and "the servos are limp" in out
    assert boards.heard > 200


def test_emulate(tmp_path: Path) -> None:
    """The port is printed at once; another process drives it; Ctrl-C ends it."""
    name = tmp_path / "robot"
    process = start("emulate", "--link", name, "--lost", 0.001, "--seed", 3)
    assert process.stdout is not None
    assert f"on {name} (Ctrl-C ends)" in process.stdout.readline()
    assert kondo("free", port=str(name))[0] == 0
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "commands heard" in out
    assert not name.is_symlink()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("home", "--port", "/dev/no-such-port"), "there is no such port"),
        (("pose", "tail=3"), "the robot has no joint 'tail'"),
        (("pose", "head_yaw=300"), "head_yaw goes from -90 to 90 deg, not to 300"),
        (("pose", "head_yaw=nan"), "is not JOINT=ANGLE"),
        (("play", GREETING, "--rate", 2), "the robot's limit is 340"),
        (("record", "here.txt"), "ends in '.txt'"),
        (("play", GREETING, "--rate", "nan"), "--rate must be"),
        (("walk", "--speed", "inf"), "--speed must be"),
        (("walk", "--speed", 99), "the most in this direction is --speed 0.0"),
        (("emulate", "--lost", "2"), "--lost must be"),
        (("save", "40", "x.csv"), "at most 39"),
        (("trim", "l_knee", 30), "a trim is -20 to 19"),
        (("emulate", "--record", "run.npz"), "add --simulate"),
        (("emulate", "--link", __file__), "is no link"),
    ],
)
def test_bad_input_is_one_line(words: tuple[object, ...], message: str) -> None:
    """Errors are one clear line, before a port is opened."""
    code, _, error = kondo(*words, port="/dev/no-such-port")
    assert code == 1
    assert message in error


def test_errors_have_no_traceback() -> None:
    """A process prints them on stderr, and ends with 1."""
    process = start("free", "--port", "/dev/[no]such")
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, "")
    assert errors.startswith("humans-sim: /dev/[no]such: there is no such port")
    assert "Traceback" not in errors


def test_the_port_that_it_must_be(
    boards: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for, named by the environment, the only one; never a guess."""
    from serial.tools import list_ports
    from serial.tools.list_ports_common import ListPortInfo

    def adapter(name: str) -> ListPortInfo:
        port = ListPortInfo(name, skip_link_detection=True)
        port.vid = 0x0403
        return port

    plugged: list[ListPortInfo] = []
    monkeypatch.setattr(list_ports, "comports", lambda: plugged)
    monkeypatch.setattr(
        "humans_sim.kondo.protocol.serial_port.RULE_NAME", "/dev/no-such-name"
    )
    monkeypatch.delenv("KONDO_PORT", raising=False)
    with pytest.raises(PortChoiceError, match="no serial port"):
        choose_port()
    plugged.append(adapter("/dev/ttyUSB0"))
    assert choose_port() == "/dev/ttyUSB0"
    plugged += [adapter("/dev/ttyUSB1"), ListPortInfo("/dev/ttyS0")]
    with pytest.raises(PortChoiceError, match="ttyUSB0, /dev/ttyUSB1: give --port"):
        choose_port()
    assert choose_port("/dev/ttyUSB1") == "/dev/ttyUSB1"
    monkeypatch.setenv("KONDO_PORT", boards.port)
    assert choose_port() == boards.port
    ports = {port.name: port for port in serial_ports()}
    assert ports[boards.port].problem == ""
    assert ports["/dev/ttyUSB0"].problem == "there is no such port"
