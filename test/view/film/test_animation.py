# SPDX-License-Identifier: Apache-2.0
"""Runs as pages, films and film strips: what moves in the run moves in the picture."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import zstandard
from browser import screenshot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.cli.commands import app
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics import Run, Simulation, load_run
from humans_sim.dynamics.problems import bouncing_ball
from humans_sim.view.browser.page import PAUSE
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene_layers import drawn_boxes, solids
from humans_sim.view.film.animation import animate
from humans_sim.view.film.film import even_samples, film, film_strip
from humans_sim.view.film.pictures import BipedPainter
from humans_sim.view.plots.side_view import SideView


@pytest.fixture(scope="module")
def drop(khr1: hs.Model) -> Run:
    """A stiff KHR-1 that falls 10 cm beside a crate, and rests."""
    q = khr1.neutral()
    q[2] += 0.1
    crate = hs.Box((0.1, 0.1, 0.1), (0.3, 0.0, 0.05), name="crate")
    ground = Ground(friction=0.7).with_solids(crate)
    return Simulation(khr1, ground=ground, locked=["*"]).run(q, t_end=0.4)


@pytest.fixture(scope="module")
def replay(drop: Run) -> Replay:
    """The same, ready to be shown."""
    return Replay(drop)


def still(run: Run, k: int) -> Run:
    """One sample of a run alone."""
    names = ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy")
    return replace(run, **{name: getattr(run, name)[k : k + 1] for name in names})


def lowest(image: np.ndarray) -> int:
    """Lowest row of the robot's dark parts, its soles among them."""
    dark = (image < 90).all(axis=2)
    return int(np.flatnonzero(dark.sum(axis=1) > 4)[-1])


def test_outlines_are_those_of_the_meshes(model: hs.Model) -> None:
    """Every vertex of a mesh lies inside its outline, the extremes on it."""
    import pinocchio as pin

    q = model.neutral()
    view = SideView(model, Ground())
    data = model.data()
    pin.forwardKinematics(model.pin, data, q)
    points = []
    for solid in solids(model):
        pose = data.oMi[solid.joint] * solid.placement
        points.append(solid.mesh.vertices @ pose.rotation.T + pose.translation)
    cloud = np.vstack(points)
    expected = (*cloud[:, 0].min(keepdims=True), *cloud[:, 0].max(keepdims=True))
    left, right, bottom, top = view.extent(q)
    assert (left, right) == pytest.approx(expected)
    assert (bottom, top) == pytest.approx((cloud[:, 2].min(), cloud[:, 2].max()))


def test_near_limbs_lie_over_far_ones(human: hs.Model) -> None:
    """Seen from the right: the left leg is drawn first, the right one last."""
    view = SideView(human, Ground())
    depths = [depth for depth, _, _ in view.outlines(human.neutral())]
    assert depths == sorted(depths, reverse=True)
    assert depths[0] > 0.1 and depths[-1] < -0.1


def test_film_strip_in_one_scale(replay: Replay) -> None:
    """The robot is drawn 10 cm higher at first, on the floor at the end."""
    image = Image.open(io.BytesIO(film_strip(BipedPainter(replay), count=4))).convert(
        "RGB"
    )
    pixels = np.asarray(image).astype(int)
    height, width, _ = pixels.shape
    view = SideView(replay.model, replay.ground)
    run = replay.run
    window, _ = view.window(run.q[even_samples(run.t, 4)])
    part = width // 4
    labels = round(width / 4 / window.ratio)  # they stand below
    rows = [lowest(pixels[:labels, k * part : (k + 1) * part]) for k in range(4)]
    scale = labels / (window.top - window.bottom)
    assert rows[-1] - rows[0] == pytest.approx(
        scale * (run.q[0, 2] - run.q[-1, 2]), abs=4
    )
    assert rows[-1] == pytest.approx(scale * window.top, abs=4)


def test_floor_crate_and_chair_are_drawn(khr1: hs.Model) -> None:
    """Pixels of the ground's grey below z = 0 only; a box has its own place."""
    ground = Ground().with_solids(hs.Box((0.1, 0.1, 0.1), (0.3, 0.0, 0.05)))
    view = SideView(khr1, ground)
    window, _ = view.window(khr1.neutral()[None])
    figure = Figure(figsize=(3 * window.ratio, 3), dpi=100)
    canvas = FigureCanvasAgg(figure)
    panel = figure.add_axes((0, 0, 1, 1))
    window = replace(window, right=0.4)
    view.draw(panel, window, khr1.neutral(), np.zeros((0, 2, 3)))
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)

    def colour(x: float, z: float) -> list[int]:
        column = (x - window.left) / (window.right - window.left)
        row = (window.top - z) / (window.top - window.bottom)
        return image[int(row * image.shape[0]), int(column * image.shape[1])].tolist()

    assert colour(0.38, 0.3) == [255, 255, 255]
    assert colour(0.38, -0.012) == [0xE9, 0xEB, 0xEE]
    assert colour(0.30, 0.05) == [190, 160, 128]
    chair = Ground().with_chair(x=0.0, seat_height=0.4)
    legs = [box for box in drawn_boxes(chair) if "leg" in box.name]
    assert len(legs) == 4
    for leg in legs:
        assert leg.centre[2] - leg.size[2] / 2 == pytest.approx(0.0)


def test_arrows_carry_the_weight(replay: Replay) -> None:
    """None in the air; at rest they add up to the weight and start on the soles."""
    assert len(replay.arrows(0)) == 0
    arrows = replay.arrows(len(replay.run.t) - 1)
    assert len(arrows) == 2
    assert np.allclose(arrows[:, 0, 2], 0.0, atol=1e-6)
    length = (arrows[:, 1] - arrows[:, 0]).sum(axis=0)
    assert length == pytest.approx([0.0, 0.0, 0.45 * replay.height], abs=1e-3)
    each = replay.arrows(len(replay.run.t) - 1, each=True)
    assert 2 < len(each) <= 8


def test_film(replay: Replay) -> None:
    """It loops, shows every frame as long as it should, and the robot falls in it."""
    image = Image.open(io.BytesIO(film(BipedPainter(replay), frames=8)))
    assert (image.n_frames, image.format, image.info["loop"]) == (8, "GIF", 0)
    assert 250 < image.height <= 640
    frames, times = [], []
    for k in range(image.n_frames):
        image.seek(k)
        frames.append(np.asarray(image.convert("RGB")).astype(int))
        times.append(image.info["duration"])
    assert times == [60] * 7 + [1000]
    assert lowest(frames[-1]) > lowest(frames[0]) + 20
    assert len({frame.shape for frame in frames}) == 1


def test_page_is_whole(drop: Run, tmp_path: Path) -> None:
    """One file that loads nothing from anywhere, with the run in it."""
    text = animate(drop, tmp_path / "a.html").read_text()
    assert "<title>humans_sim: " in text
    assert "__VISER_EMBED_DATA__" in text
    head = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", head)
    assert 5e5 < len(text) < 5e6


def test_page_holds_the_motion(drop: Run, tmp_path: Path) -> None:
    """In real time and with a pause: the base where the run has it, crate, forces."""
    text = animate(drop, tmp_path / "a.html").read_text()
    match = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', text)
    assert match is not None
    packed = base64.b64decode(match.group(1))[8:]
    content = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    size = int.from_bytes(content[:8], "little")
    recording = msgspec.msgpack.decode(content[8 : 8 + size])
    assert recording["durationSeconds"] == pytest.approx(0.4 + PAUSE)
    messages = recording["messages"]
    boxes = [m for _, m in messages if m["type"] == "BoxMessage"]
    assert [box["props"]["dimensions"] for box in boxes] == [[0.1, 0.1, 0.1]]
    moves = [
        (time, message["position"])
        for time, message in messages
        if message["type"] == "SetPositionMessage"
        and message["name"] == "/stage/robot/01"
    ]
    assert len(moves) >= 5
    # a place that does not change is not sent again
    for time, place in moves:
        k = int(np.argmin(np.abs(drop.t - time)))
        assert place == pytest.approx(drop.q[k, :3], abs=1e-6)
    assert any(m.get("name") == "/stage/forces" for _, m in messages)


@pytest.mark.study
@pytest.mark.browser
def test_page_plays_in_a_browser(drop: Run, tmp_path: Path) -> None:
    """Opened from the disk, the robot is in the air, and lower a moment later."""
    slow = replace(drop, t=10.0 * drop.t)
    page = animate(slow, tmp_path / "run.html")
    rows = []
    for budget in (300, 4500):
        image = screenshot(page.as_uri(), tmp_path, budget)
        height, width, _ = image.shape
        # Controls stand below, a notice on software rendering on the left.
        part = image[: int(0.9 * height), int(0.46 * width) : int(0.75 * width)]
        blue = (part[..., 2] > part[..., 0] + 45) & (part[..., 2] > part[..., 1] + 25)
        assert blue.sum() > 200, "the robot is not seen"
        rows.append(np.flatnonzero(blue.any(axis=1))[0])
    assert rows[1] > rows[0] + 15


def test_a_run_file_is_enough(drop: Run, tmp_path: Path) -> None:
    """Model and scene come from the file."""
    loaded = Replay(load_run(drop.save(tmp_path / "run.npz")))
    assert loaded.model.name == "khr1"
    assert [solid.name for solid in loaded.ground.solids] == ["ground", "crate"]
    path = animate(load_run(tmp_path / "run.npz"), tmp_path / "a.png")
    assert path.read_bytes() == film_strip(BipedPainter(Replay(drop)))


@pytest.mark.study
@pytest.mark.parametrize("k", [0, -1])
@pytest.mark.parametrize("name", ["a.png", "a.GIF", "a.html"])
def test_one_sample(drop: Run, tmp_path: Path, name: str, k: int) -> None:
    """The shortest run there is can be shown; no other file is left."""
    path = animate(still(drop, len(drop.t) - 1 if k else 0), tmp_path / "sub" / name)
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_size > 1000


@pytest.mark.study
def test_a_long_path_is_followed(drop: Run) -> None:
    """A robot that goes far stays in the middle of the picture, as large as ever."""
    q = drop.q.copy()
    q[:, 0] += np.linspace(0.0, 20.0, len(q))
    far = Replay(replace(drop, q=q))
    view = SideView(far.model, far.ground)
    window, follows = view.window(q)
    assert follows and window.right - window.left < 2 * far.height
    assert not SideView(far.model, far.ground).window(drop.q)[1]


@pytest.mark.parametrize("name", ["a.mp4", "a", "a.html.txt"])
def test_unknown_format(drop: Run, tmp_path: Path, name: str) -> None:
    """It is refused by name before anything is drawn or written."""
    endings = r"\.html, \.gif, \.png, \.glb, \.x3d, \.wrl"
    with pytest.raises(ParameterError, match=rf"{endings}, not to '{name}'"):
        animate(drop, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_shown(drop: Run, bip: hs.Model, tmp_path: Path) -> None:
    """Classic problems, another model, another scene: each is reported."""
    ball = Simulation(bouncing_ball(0.5)).run(np.array([0.1]), t_end=0.1)
    with pytest.raises(ParameterError, match="only runs of biped models.*bouncing"):
        animate(ball, tmp_path / "a.png")
    with pytest.raises(ParameterError, match="other joints than the model bip"):
        animate(drop, tmp_path / "a.png", model=bip)
    with pytest.raises(ParameterError, match="other contacts than this scene"):
        animate(drop, tmp_path / "a.png", ground=Ground())
    assert not list(tmp_path.iterdir())


def test_failure_keeps_the_old_file(
    drop: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up leaves the old picture and nothing else."""

    def fail(descriptor: int) -> None:
        raise OSError("no space left")

    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    monkeypatch.setattr("humans_sim.core.files.os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        animate(drop, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_command(tmp_path: Path) -> None:
    """The command writes it; what it cannot do it says before it simulates."""
    path = tmp_path / "drop.png"
    words = ["run", "drop", "--end", "0.1", "--animate", str(path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "animated:" in done.output
    assert path.read_bytes().startswith(b"\x89PNG")
    for scenario, file in (("bounce", "a.png"), ("drop", "a.avi")):
        words = ["run", scenario, "--animate", str(tmp_path / file)]
        done = CliRunner().invoke(app, words)
        assert isinstance(done.exception, ParameterError)
        assert "simulated in" not in done.output
