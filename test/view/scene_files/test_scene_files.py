# SPDX-License-Identifier: Apache-2.0
"""glTF, X3D and VRML: the links are where the run has them, in every sample."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from rolling_starts import steady_coin
from scene_readers import COMPONENTS, Y_UP, Glb, World, pose, read_vrml, read_x3d
from small_wrists import small_run
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.cli.commands import app
from humans_sim.cli.options import ANIMATIONS, SCENES
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import FileWriteError, ParameterError
from humans_sim.dynamics import Run, Simulation
from humans_sim.dynamics.problems import bouncing_ball
from humans_sim.dynamics.surfaces.rolling import coin
from humans_sim.view.browser.scene_layers import solids
from humans_sim.view.film.animation import ANIMATION_SUFFIXES
from humans_sim.view.scene_files import scenes

READERS = {".x3d": read_x3d, ".wrl": read_vrml}
TEXTS = tuple(READERS)
EXACT = 1e-6
"""Of places [m] and parts of rotation matrices."""

# Fields of the nodes, ISO/IEC 14772 and 19775.
FIELDS = {
    "WorldInfo": {"title"},
    "Background": {"skyColor"},
    "DirectionalLight": {"ambientIntensity", "direction", "intensity"},
    "Viewpoint": {"description", "fieldOfView", "orientation", "position"},
    "Transform": {"translation", "rotation", "scale"},
    "Shape": set(),
    "Appearance": set(),
    "Material": {"diffuseColor"},
    "IndexedFaceSet": {"solid", "creaseAngle", "coordIndex"},
    "Coordinate": {"point"},
    "TimeSensor": {"cycleInterval", "loop"},
    "PositionInterpolator": {"key", "keyValue"},
    "OrientationInterpolator": {"key", "keyValue"},
}


@pytest.fixture(scope="module")
def waving(khr1: hs.Model) -> Run:
    """A KHR-1 beside a crate, every joint of which moves, and which turns over."""
    crate = hs.Box((0.1, 0.2, 0.1), (0.3, 0.0, 0.05), name="crate")
    ground = Ground(friction=0.7).with_solids(crate)
    q = khr1.neutral()
    q[2] += 0.1
    run = Simulation(khr1, ground=ground, locked=["*"]).run(q, t_end=0.06)
    rng = np.random.default_rng(4)
    speeds = 3.0 * rng.normal(size=khr1.nv)
    speeds[3:6] = (2.0, 80.0, 1.0)  # it turns by more than half a turn in all
    path = np.array([khr1.integrate(q, t * speeds) for t in run.t - run.t[0]])
    return replace(run, t=run.t + 1.5, q=path)


def written(run: Any, folder: Path, suffix: str) -> bytes:
    """Content of a file that ``hs.animate`` writes."""
    return hs.animate(run, folder / f"a{suffix}").read_bytes()


def expected_pose(model: hs.Model, q: np.ndarray, link: str) -> np.ndarray:
    """Pose of a link with y up."""
    at = model.frame_pose(q, link)
    return pose(Y_UP @ at.translation, Y_UP @ at.rotation)


def drawn_links(model: hs.Model) -> set[str]:
    """Links that have something to be drawn."""
    return {solid.name.rpartition("_")[0] for solid in solids(model)}


def test_glb_links_are_where_the_run_has_them(
    waving: Run, khr1: hs.Model, tmp_path: Path
) -> None:
    """All samples, all links, against the model's own kinematics."""
    file = Glb(written(waving, tmp_path, ".glb"))
    assert np.abs(file.times() - (waving.t - waving.t[0])).max() < EXACT
    assert len(file.times()) == len(waving.t)
    links = drawn_links(khr1)
    assert len(links) == 18
    for k, q in enumerate(waving.q):
        poses = file.poses(k)
        for link in links:
            error = np.abs(poses[link] - expected_pose(khr1, q, link)).max()
            assert error < EXACT, (k, link)


@pytest.mark.parametrize("suffix", TEXTS)
def test_web3d_links_are_where_the_run_has_them(
    waving: Run, khr1: hs.Model, tmp_path: Path, suffix: str
) -> None:
    """The same in X3D and VRML, by the manual's names of the joints."""
    world = READERS[suffix](written(waving, tmp_path, suffix))
    named = {"l_foot": "Kondo_l_ankle", "r_hand": "Kondo_r_elbow", "head": "Kondo_vc7"}
    named |= {"base_link": "Kondo_HumanoidRoot", "l_ankle": "Kondo_l_ankleSagittal"}
    span = waving.t[-1] - waving.t[0]
    keys = [n for n in world.every() if n.kind.endswith("Interpolator")]
    assert keys and all(len(n.fields["key"]) == len(waving.t) for n in keys)
    (clock,) = (n for n in world.every() if n.kind == "TimeSensor")
    assert clock.fields["cycleInterval"] == pytest.approx([span])
    for k in range(0, len(waving.t), 2):
        poses = world.poses(float((waving.t[k] - waving.t[0]) / span))
        for link, name in named.items():
            error = np.abs(poses[name] - expected_pose(khr1, waving.q[k], link)).max()
            assert error < EXACT, (k, link)


def test_between_samples_it_turns_by_the_shorter_way(
    waving: Run, tmp_path: Path
) -> None:
    """Quaternions that follow each other are of one sign."""
    file = Glb(written(waving, tmp_path, ".glb"))
    animation = file.json["animations"][0]
    for channel in animation["channels"]:
        if channel["target"]["path"] == "rotation":
            values = file.numbers(animation["samplers"][channel["sampler"]]["output"])
            assert np.sum(values[1:] * values[:-1], axis=1).min() > 0.0
    root = [n["name"] for n in file.json["nodes"]].index("base_link")
    first = [c for c in animation["channels"] if c["target"]["node"] == root]
    assert {c["target"]["path"] for c in first} == {"translation", "rotation"}


def test_glb_keeps_the_rules_of_gltf(waving: Run, tmp_path: Path) -> None:
    """Alignment, bounds, types and references, as the specification asks for them."""
    check_rules(Glb(written(waving, tmp_path, ".glb")))


def check_rules(file: Glb) -> None:
    """Rules of glTF 2.0, chapters 3.5 to 3.11."""
    content = file.json
    assert content["asset"]["version"] == "2.0"
    assert content["buffers"] == [{"byteLength": len(file.binary)}]
    end = 0
    for view in content["bufferViews"]:  # in order, without overlaps
        assert view["byteOffset"] % 4 == 0 and view["byteOffset"] >= end
        end = view["byteOffset"] + view["byteLength"]
    assert end <= len(file.binary)
    for number, accessor in enumerate(content["accessors"]):
        assert accessor["componentType"] in COMPONENTS
        values = file.numbers(number)
        assert np.isfinite(values).all()
        if "min" in accessor:
            assert accessor["min"] == values.min(axis=0).tolist()
            assert accessor["max"] == values.max(axis=0).tolist()
    for mesh in content.get("meshes", []):
        for part in mesh["primitives"]:
            places, normals = (part["attributes"][w] for w in ("POSITION", "NORMAL"))
            count = content["accessors"][places]["count"]
            assert {"min", "max"} <= set(content["accessors"][places])
            assert content["accessors"][normals]["count"] == count
            lengths = np.linalg.norm(file.numbers(normals), axis=1)
            assert np.abs(lengths - 1.0).max() < 1e-4
            indices = file.numbers(part["indices"])
            assert len(indices) % 3 == 0 and indices.max() < count
            view = content["accessors"][part["indices"]]["bufferView"]
            assert content["bufferViews"][view]["target"] == 34963
            colour = content["materials"][part["material"]]["pbrMetallicRoughness"]
            assert all(0.0 <= share <= 1.0 for share in colour["baseColorFactor"])
    below = [k for node in content["nodes"] for k in node.get("children", [])]
    roots = content["scenes"][0]["nodes"]
    assert sorted(below + roots) == list(range(len(content["nodes"])))  # a tree
    for animation in content.get("animations", []):
        check_animation(file, animation)


def check_animation(file: Glb, animation: dict[str, Any]) -> None:
    """Rules of animations, chapter 3.11."""
    targets = [tuple(c["target"].values()) for c in animation["channels"]]
    assert len(set(targets)) == len(targets)
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        times = file.json["accessors"][sampler["input"]]
        values = file.json["accessors"][sampler["output"]]
        assert times["min"] == [0.0] and times["type"] == "SCALAR"
        assert (np.diff(file.numbers(sampler["input"])[:, 0]) > 0.0).all()
        turns = channel["target"]["path"] == "rotation"
        assert values["type"] == ("VEC4" if turns else "VEC3")
        assert values["count"] == times["count"]
        if turns:
            lengths = np.linalg.norm(file.numbers(sampler["output"]), axis=1)
            assert np.abs(lengths - 1.0).max() < 1e-6


@pytest.mark.parametrize("suffix", TEXTS)
def test_web3d_nodes_are_those_of_the_standards(
    waving: Run, tmp_path: Path, suffix: str
) -> None:
    """Known nodes with known fields, indices within their points, routes to fields."""
    world = READERS[suffix](written(waving, tmp_path, suffix))
    for node in world.every():
        assert set(node.fields) <= FIELDS[node.kind], node.kind
        if node.kind == "IndexedFaceSet":
            (points,) = node.children
            count = len(points.fields["point"]) / 3
            indices = np.array(node.fields["coordIndex"]).reshape(-1, 4)
            assert (indices[:, 3] == -1).all()
            assert 0 <= indices[:, :3].min() and indices[:, :3].max() < count
    named = world.named()
    for source, output, target, entry in world.routes:
        if output == "fraction_changed":
            assert named[source].kind == "TimeSensor" and entry == "set_fraction"
        else:
            assert output == "value_changed"
            assert entry.removeprefix("set_") in FIELDS[named[target].kind]
        assert named[target].kind.endswith(("Interpolator", "Transform"))


def test_x3d_and_vrml_say_the_same(waving: Run, tmp_path: Path) -> None:
    """Two spellings of one scene."""
    one, other = (READERS[s](written(waving, tmp_path, s)) for s in TEXTS)
    assert one.routes == other.routes
    assert [without_scene(one)] == [without_scene(other)]


def without_scene(world: World) -> list[Any]:
    """Everything of the nodes of a file, to be compared."""
    return [(n.kind, n.name, n.fields, len(n.children)) for n in world.every()]


def test_trimesh_reads_the_shapes(model: hs.Model, tmp_path: Path) -> None:
    """Another reader finds each model of the package as the viewer draws it."""
    path = hs.export_model(model, tmp_path / "m.glb")
    check_rules(Glb(path.read_bytes()))
    scene = trimesh.load(io.BytesIO(path.read_bytes()), file_type="glb")
    expected = []
    for solid in solids(model):
        q = model.neutral()
        at = model.frame_pose(q, solid.name.rpartition("_")[0])
        placed = solid.mesh.vertices @ solid.placement.rotation.T
        placed = (placed + solid.placement.translation) @ at.rotation.T
        expected.append((placed + at.translation) @ Y_UP.T)
    cloud = np.vstack(expected)
    assert scene.bounds == pytest.approx(
        np.array([cloud.min(axis=0), cloud.max(axis=0)]), abs=1e-6
    )
    area = sum(solid.mesh.area for solid in solids(model))
    assert scene.area == pytest.approx(area, rel=1e-5)


def test_models_at_rest_and_in_a_posture(human: hs.Model, tmp_path: Path) -> None:
    """No animation; a posture is taken; H-Anim has its names."""
    q = human.standing(0.2 * np.ones(36))
    file = Glb(hs.export_model(human, tmp_path / "h.glb", q).read_bytes())
    assert "animations" not in file.json
    for link in ("head", "l_foot", "r_hand"):
        assert file.poses(0)[link] == pytest.approx(expected_pose(human, q, link))
    world = read_vrml(hs.export_model(human, tmp_path / "h.wrl", q).read_bytes())
    assert not world.routes
    names = {f"hanim_{side}_{joint}" for side in "lr" for joint in ("hip", "wrist")}
    assert names | {"hanim_vt10", "hanim_HumanoidRoot"} <= set(world.named())
    got = world.poses(0.0)["hanim_r_wrist"]
    assert got == pytest.approx(expected_pose(human, q, "r_hand"), abs=EXACT)


def test_surroundings_are_there(waving: Run, tmp_path: Path) -> None:
    """The crate has its size and place; the floor is level and below all that moves."""
    path = hs.animate(waving, tmp_path / "a.glb")
    scene = trimesh.load(io.BytesIO(path.read_bytes()), file_type="glb")
    parts = {name: scene.graph.get(name)[0] for name in scene.graph.nodes_geometry}
    (crate,) = (name for name in parts if name.startswith("box_0_crate"))
    mesh = scene.geometry[scene.graph.get(crate)[1]].copy()
    mesh.apply_transform(parts[crate])
    assert mesh.extents == pytest.approx([0.1, 0.1, 0.2])  # y is up
    assert mesh.centroid == pytest.approx([0.3, 0.05, 0.0], abs=1e-6)
    floors = [
        scene.geometry[scene.graph.get(name)[1]]
        for name in parts
        if name.startswith("floor")
    ]
    assert len(floors) == 2  # of two colours
    assert all(np.ptp(floor.vertices[:, 2]) < 1e-6 for floor in floors)
    assert sum(floor.area for floor in floors) > 0.5


def test_samples_at_one_time(waving: Run, tmp_path: Path) -> None:
    """Of the samples before and after an event the last stays: times rise."""
    t = waving.t.copy()
    t[3] = t[2]
    file = Glb(written(replace(waving, t=t), tmp_path, ".glb"))
    assert len(file.times()) == len(t) - 1
    check_rules(file)
    expected = expected_pose(hs.load_model("khr1"), waving.q[3], "l_foot")
    assert file.poses(2)["l_foot"] == pytest.approx(expected, abs=EXACT)


def test_one_sample(waving: Run, tmp_path: Path) -> None:
    """A run of one sample is a scene at rest."""
    short = waving[:1]
    file = Glb(written(short, tmp_path, ".glb"))
    assert "animations" not in file.json
    check_rules(file)
    assert not read_x3d(written(short, tmp_path, ".x3d")).routes


def test_free_bodies(tmp_path: Path) -> None:
    """A coin moves as its run says, in two colours; it stands on a floor."""
    q, v, _ = steady_coin(0.25)
    run = hs.Simulation(coin()).run(q, v, t_end=0.05, sampling_period=0.01)
    file = Glb(written(run, tmp_path, ".glb"))
    check_rules(file)
    (name,) = (n["name"] for n in file.json["nodes"][1:] if "floor" not in n["name"])
    (entry,) = (n for n in file.json["nodes"] if n["name"] == name)
    assert len(file.json["meshes"][entry["mesh"]]["primitives"]) == 2
    for k, row in enumerate(run.q):
        place = Y_UP @ row[-7:-4]
        assert file.poses(k)[name][:3, 3] == pytest.approx(place, abs=EXACT)


def test_wrists(tmp_path: Path) -> None:
    """Bones of a wrist move as their run says."""
    run = small_run()
    file = Glb(written(run, tmp_path, ".glb"))
    check_rules(file)
    assert len(file.times()) == len(run.t)
    free = run.wrist.number("lunate")
    for k in (0, len(run.t) - 1):
        got = file.poses(k)["lunate"]
        assert got[:3, 3] == pytest.approx(Y_UP @ run.x[k, free], abs=EXACT)
        assert got[:3, :3] == pytest.approx(Y_UP @ run.frames[k, free], abs=EXACT)


def test_what_cannot_be_written(waving: Run, khr1: hs.Model, tmp_path: Path) -> None:
    """Other endings, runs without a body: named, and nothing is left."""
    ball = Simulation(bouncing_ball(0.5)).run(np.array([0.1]), t_end=0.1)
    with pytest.raises(ParameterError, match="only runs of biped models.*bouncing"):
        hs.animate(ball, tmp_path / "a.glb")
    with pytest.raises(ParameterError, match=r"\.glb, \.x3d, \.wrl, not to 'a.gltf'"):
        hs.animate(waving, tmp_path / "a.gltf")
    with pytest.raises(ParameterError, match=r"\.glb, \.x3d, \.wrl, not to 'a.obj'"):
        hs.export_model(khr1, tmp_path / "a.obj")
    with pytest.raises(ParameterError, match="network of masses"):
        hs.animate(replace(waving, info={"network": {}}), tmp_path / "a.wrl")
    assert not list(tmp_path.iterdir())


def test_failure_keeps_the_old_file(
    khr1: hs.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is written whole or not at all."""
    path = tmp_path / "a.glb"
    path.write_bytes(b"old")

    def full(_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(scenes.SCENE_FORMATS, ".glb", full)
    with pytest.raises((OSError, FileWriteError)):
        hs.export_model(khr1, path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.glb"]
    assert path.read_bytes() == b"old"


def test_endings_of_commands_are_those_of_the_library() -> None:
    """The command line knows them without loading what writes them."""
    assert ANIMATIONS == ANIMATION_SUFFIXES
    assert SCENES == tuple(scenes.SCENE_FORMATS)


@pytest.mark.study
@pytest.mark.parametrize("suffix", (*SCENES, ".mcap", ".csv"))
def test_command_exports_runs(waving: Run, tmp_path: Path, suffix: str) -> None:
    """A stored run becomes each kind of file, the same as by the library."""
    waving.save(tmp_path / "run.npz")
    words = ["export", str(tmp_path / "run.npz"), str(tmp_path / f"b{suffix}")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    made = (tmp_path / f"b{suffix}").read_bytes()
    assert made
    if suffix in SCENES:
        assert made == written(waving, tmp_path, suffix)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("khr1", "a.mcap"), "a model is written to .glb, .x3d, .wrl"),
        (("khr1", "a.stl"), "is written"),
        (("nobody", "a.glb"), "nobody"),
        (("none.npz", "a.glb"), "none.npz"),
        (("none.npz", "a.glb", "--height", "1.7"), "of models"),
    ],
)
def test_command_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str], reason: str
) -> None:
    """In one line, and without a file."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["export", *words])
    assert done.exit_code != 0
    assert reason in done.output or reason in str(done.exception)
    assert not list(tmp_path.iterdir())
