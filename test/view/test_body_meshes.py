# SPDX-License-Identifier: Apache-2.0
"""Pictures of free bodies: coins, stones and balls look like what they are."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from PIL import Image
from rolling_starts import rolling_start, steady_coin

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.errors import RunFileError
from humans_sim.dynamics.surfaces.rolling import (
    coin,
    rattleback,
    rolling_cylinder,
)
from humans_sim.results.run import body_poses
from humans_sim.view.browser.bodies_page import BodiesView, body_meshes
from humans_sim.view.film.film import film, film_strip
from humans_sim.view.film.pictures import BodyPainter


@pytest.fixture(scope="module")
def disk() -> hs.Run:
    """A coin goes round on its edge for some turns of its face."""
    q, v, _ = steady_coin(0.25)
    return hs.Simulation(coin()).run(q, v, t_end=0.05, sampling_period=0.025)


def test_shapes_are_those_of_the_surfaces() -> None:
    """A coin is as wide as its edge, a stone half an ellipsoid; both turn visibly."""
    disk, stone, roller = (
        body_meshes(system.record())[0]
        for system in (coin(), rattleback(), rolling_cylinder())
    )
    assert disk.extents == pytest.approx([0.082, 0.082, 0.002], rel=2e-3)
    assert stone.extents == pytest.approx([0.4, 0.06, 0.02], rel=5e-3)
    assert stone.bounds[1, 2] == pytest.approx(0.01)
    assert roller.extents[2] == pytest.approx(0.102)
    for mesh in (disk, stone):
        assert len(np.unique(mesh.visual.face_colors, axis=0)) == 2


def test_a_coin_lies_on_the_floor_it_rolls_on(disk: hs.Run) -> None:
    """The lowest point of what is drawn is at the floor, at every sample."""
    mesh = body_meshes(disk.info)[0]
    for row in disk.q:
        turn = pin.Quaternion(row[3:7]).matrix()
        lowest = (mesh.vertices @ turn.T + row[:3])[:, 2].min()
        assert lowest == pytest.approx(0.0, abs=2e-3)


def test_film_and_strip_show_the_turning_face(disk: hs.Run, tmp_path: Path) -> None:
    """Frames differ, have the coin's colour in them, and are written by animate."""
    frames = Image.open(io.BytesIO(film(BodyPainter(disk), frames=3)))
    assert frames.n_frames == 3
    pictures = []
    for k in range(3):
        frames.seek(k)
        pictures.append(np.asarray(frames.convert("RGB")).astype(int))
    red = (pictures[0][..., 0] - pictures[0][..., 2]) > 60
    assert 0.01 < red.mean() < 0.5
    assert np.abs(pictures[0] - pictures[1]).max() > 60
    strip = Image.open(io.BytesIO(film_strip(BodyPainter(disk))))
    assert strip.width > strip.height
    assert hs.animate(disk, tmp_path / "coin.png").stat().st_size > 1000


def test_a_page_shows_the_coin(disk: hs.Run) -> None:
    """Its mesh is where the sample has it."""
    page = BodiesView(disk, port=0)
    try:
        page.show(2)
        assert page._bodies[0].position == pytest.approx(disk.q[2, :3])
    finally:
        page.stop()


@pytest.fixture(scope="module")
def knee() -> hs.Run:
    """A leg begins to stand up on its rolling knee."""
    return read_scenario("rolling-knee").with_changes(end=0.02).run(progress=False)


def test_condyles_are_drawn_on_their_plateau(knee: hs.Run) -> None:
    """Bodies on joints: condyles touch the plateau, at every sample."""
    names = [body["name"] for body in knee.info["bodies"]]
    meshes = dict(zip(names, body_meshes(knee.info), strict=True))
    plate = names.index("plateau")
    for rows in body_poses(knee):
        for name in ("medial condyle", "lateral condyle"):
            pose = pin.XYZQUATToSE3(rows[plate]).actInv(
                pin.XYZQUATToSE3(rows[names.index(name)])
            )
            points = meshes[name].vertices @ pose.rotation.T + pose.translation
            top = meshes["plateau"].bounds[1, 2]
            assert points[:, 2].min() == pytest.approx(top, abs=3e-4)
    assert meshes["shank"].visual.face_colors[0] == pytest.approx(
        meshes["plateau"].visual.face_colors[0]
    )


def test_film_and_page_show_the_leg(knee: hs.Run, tmp_path: Path) -> None:
    """It goes into a strip as high as the leg, and onto a page, from a file alone."""
    run = hs.load_run(knee.save(tmp_path / "knee.npz"))
    picture = BodyPainter(run)
    assert picture._high[1] - picture._low[1] == pytest.approx(0.95, abs=0.2)
    assert len(film_strip(BodyPainter(run), 2)) > 1000
    page = BodiesView(run, port=0)
    try:
        page.show(2)
        assert page._bodies[-1].position == pytest.approx([0, 0, 0.06 + run.q[2, 1]])
    finally:
        page.stop()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parent": 7}, "no joint 7"),
        ({"at": [0.0] * 7}, "no placement"),
        ({"kind": "JointModelTeapot"}, "Teapot"),
        ({"kind": "JointModelSpherical"}, "9 coordinates, the run has 6"),
        ({"name": "elbow"}, "'ankle' is not in list"),
    ],
)
def test_damaged_joints_are_refused(
    knee: hs.Run, change: dict[str, Any], message: str
) -> None:
    """A record of joints that are none is a typed error."""
    first, *others = knee.info["joints"]
    run = replace(knee, info={**knee.info, "joints": [{**first, **change}, *others]})
    with pytest.raises(RunFileError, match=message):
        body_poses(run)


def test_other_records_are_refused() -> None:
    """Shapes that nobody knows are damaged; robots among bodies have pages alone."""
    with pytest.raises(RunFileError, match="no shape is called 'teapot'"):
        body_meshes({"bodies": [{"name": "pot", "shape": "teapot"}]})
    system = rattleback()
    q, v = rolling_start(system, np.eye(3), np.zeros(3))
    run = hs.Simulation(system).run(q, v, t_end=0.01)
    run.info["model"] = {}
    with pytest.raises(hs.errors.ParameterError, match=r"\.html"):
        BodyPainter(run)
