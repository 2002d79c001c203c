# SPDX-License-Identifier: Apache-2.0
"""Runs in other formats: every number comes back from CSV and MCAP as it was."""

from __future__ import annotations

import csv
import importlib
import json
import math
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.records import Chunk, Footer
from mcap.stream_reader import StreamReader, get_chunk_data_stream
from mcap_ros2.decoder import DecoderFactory

import humans_sim as hs
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics import Event, Run, Simulation
from humans_sim.dynamics.problems import pendulum, rocking_block, rocking_block_start
from humans_sim.results import records as events
from humans_sim.results.export import write_mcap
from humans_sim.results.record import link_of
from humans_sim.results.ros_files import definitions, schema

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this module of mcap_ros2 warns when imported
    from mcap_ros2.reader import read_ros2_messages

ROOT = Path(__file__).resolve().parents[2]
LARGE = "/robot_markers"
"""Triangles of a robot: to read them takes a while."""
ONCE = ("/robot_description", "/tf_static", LARGE, "/scene")
"""Topics of a biped that are sent at the beginning."""
Write = Callable[[Run, Path], Path]


@pytest.fixture(scope="module")
def block() -> Run:
    """A rocking block: impacts, sticking and sliding; with states of an actuation."""
    run = Simulation(rocking_block(0.15, 0.3)).run(
        rocking_block_start(), np.array([1.0, 0.0, 0.0]), t_end=0.8
    )
    assert {1, 2} <= set(run.contacts.ravel().tolist())
    n = len(run.t)
    rng = np.random.default_rng(7)
    return replace(
        run, z=rng.normal(size=(n, 2)), torques=rng.normal(size=run.torques.shape)
    )


@pytest.fixture(scope="module")
def drop(khr1: hs.Model) -> Run:
    """A KHR-1 that falls onto the floor, all but its elbows locked."""
    q = khr1.neutral()
    q[2] += 0.003
    locked = [name for name in khr1.joint_names if "elbow" not in name]
    run = Simulation(khr1, ground=Ground(), locked=locked).run(q, t_end=0.08)
    assert run.contacts[-1].any() and any(e.kind == events.IMPACT for e in run.events)
    return run


@pytest.fixture(params=("block", "drop"))
def run(request: pytest.FixtureRequest) -> Run:
    """Each of the runs."""
    return request.getfixturevalue(request.param)


def table(path: Path) -> dict[str, np.ndarray]:
    """Columns of a file of numbers."""
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    assert len(set(header)) == len(header)
    columns = np.array([[float(text) for text in row] for row in rows]).T
    return dict(zip(header, columns, strict=True))


def messages(path: Path) -> dict[str, list[Any]]:
    """Messages by topic."""
    by_topic = defaultdict(list)
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    topics = {channel.topic for channel in summary.channels.values()} - {LARGE}
    for message in read_ros2_messages(str(path), topics=sorted(topics)):
        by_topic[message.channel.topic].append(message)
    return by_topic


def numbers(vector: Any, names: str = "xyz") -> list[float]:
    """Components of a vector or quaternion."""
    return [getattr(vector, name) for name in names]


def nanoseconds(stamp: Any) -> int:
    """Time of a stamp."""
    return int(stamp.sec * 10**9 + stamp.nanosec)


def test_csv(run: Run, tmp_path: Path) -> None:
    """Every array comes back bit for bit, under its own name."""
    path = run.to_csv(tmp_path / "sub" / "run.csv")
    columns = table(path)

    def column(*names: str) -> np.ndarray:
        return np.stack([columns.pop(name) for name in names], axis=-1)

    assert np.array_equal(columns.pop("t [s]"), run.t)
    assert np.array_equal(column(*run.position_names), run.q)
    assert np.array_equal(column(*(f"v {n}" for n in run.velocity_names)), run.v)
    torques = column(*(f"tau {n}" for n in run.velocity_names))
    assert np.array_equal(torques, run.torques)
    for k in range(run.z.shape[1]):
        assert np.array_equal(columns.pop(f"z{k}"), run.z[:, k])
    for k, name in enumerate(run.table.names):
        if run.table.kinds[k] == "link" and not run.contacts[:, k].any():
            continue  # links that never touch
        length, force = ("m", "N") if run.table.kinds[k] == "point" else ("rad", "N m")
        assert np.array_equal(columns.pop(f"{name} mode"), run.contacts[:, k])
        assert np.array_equal(columns.pop(f"{name} gap [{length}]"), run.gaps[:, k])
        parts = (f"{name} {p} [{force}]" for p in ("normal", "tangent_1", "tangent_2"))
        assert np.array_equal(column(*parts), run.forces[:, k])
    assert np.array_equal(column("kinetic [J]", "potential [J]"), run.energy)
    assert not columns


def test_csv_of_numbers_without_value(block: Run, tmp_path: Path) -> None:
    """NaN and infinity, as failed runs have them, come back, too."""
    torques = block.torques.copy()
    torques[-1] = [math.nan, math.inf, -math.inf]
    columns = table(replace(block, torques=torques).to_csv(tmp_path / "run.csv"))
    got = [columns[f"tau {name}"][-1] for name in ("x", "z", "angle")]
    assert np.array_equal(got, torques[-1], equal_nan=True)


def test_csv_of_events(run: Run, tmp_path: Path) -> None:
    """Events lie beside the table; their details are JSON."""
    odd = Event(0.1 + 0.2, "mine", 'a "b", c', {"text": "häls\nline", "x [m]": 1e-300})
    run = replace(run, events=(*run.events, odd))
    run.to_csv(tmp_path / "run.csv")
    files = {"run.csv", "run.events.csv", "run.event_states.csv"}
    assert {p.name for p in tmp_path.iterdir()} == files
    with (tmp_path / "run.events.csv").open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["time [s]", "kind", "subject", "detail"]
    got = [Event(float(t), kind, s, json.loads(d)) for t, kind, s, d in rows]
    assert got == list(run.events)


def test_mcap_is_whole(run: Run, tmp_path: Path) -> None:
    """A ROS 2 file with indices, counts, right checksums and messages in order."""
    path = run.to_mcap(tmp_path / "sub" / "run.mcap")
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        assert reader.get_header().profile == "ros2"
        summary = reader.get_summary()
        times = [m.log_time for _, _, m in reader.iter_messages(log_time_order=False)]
        metadata = {m.name: m.metadata for m in reader.iter_metadata()}
    assert times == sorted(times)
    assert json.loads(metadata["humans_sim"]["system"]) == run.info["system"]
    assert summary is not None and summary.statistics is not None
    counts = {
        summary.channels[k].topic: count
        for k, count in summary.statistics.channel_message_counts.items()
    }
    topics = ["/joint_states", "/ground_contacts"]
    topics += [f"/energy/{name}" for name in ("kinetic", "potential", "total")]
    once: tuple[str, ...] = ()
    if "base_x" in run.position_names:
        topics += ["/odom", "/tf", "/walk_markers", "/contact_markers"]
        topics += [f"/joints/{name}" for name in run.velocity_names[6:]]
        once = ONCE
    expected = {**dict.fromkeys(topics, len(run.t)), **dict.fromkeys(once, 1)}
    assert counts == {**expected, "/events": len(run.events)}
    assert {c.message_encoding for c in summary.channels.values()} == {"cdr"}
    assert {s.encoding for s in summary.schemas.values()} == {"ros2msg"}


def test_mcap_checksums(run: Run, tmp_path: Path) -> None:
    """Chunks and summary carry checksums (zero would mean none)."""
    path = run.to_mcap(tmp_path / "run.mcap")
    with path.open("rb") as stream:
        reader = StreamReader(stream, emit_chunks=True, validate_crcs=True)
        records = list(reader.records)
    chunks = [record for record in records if isinstance(record, Chunk)]
    assert chunks
    for chunk in chunks:
        content = get_chunk_data_stream(chunk, validate_crc=True)[0].read(
            chunk.uncompressed_size
        )
        assert chunk.uncompressed_crc == zlib.crc32(content)
    footer = next(record for record in records if isinstance(record, Footer))
    assert footer.summary_crc != 0


def test_mcap_times(run: Run, tmp_path: Path) -> None:
    """Messages carry the simulation's time, to the nanosecond, inside and outside."""
    by_topic = messages(run.to_mcap(tmp_path / "run.mcap"))
    happened = by_topic.pop("/events")
    expected = [round(1e9 * t) for t in run.t]
    for topic in ONCE:
        assert all(m.log_time_ns == expected[0] for m in by_topic.pop(topic, []))
    for sent in by_topic.values():
        assert [m.log_time_ns for m in sent] == expected
        assert [m.publish_time_ns for m in sent] == expected
    for topic in ("/joint_states", "/ground_contacts"):
        stamps = [nanoseconds(m.ros_msg.header.stamp) for m in by_topic[topic]]
        assert stamps == expected
    assert [m.log_time_ns for m in happened] == [
        round(1e9 * event.time) for event in run.events
    ]


def test_mcap_events(run: Run, tmp_path: Path) -> None:
    """Events come back with their exact time, their numbers and their text."""
    mixed = {"text": "häls", "x [m]": 1 / 3, "count": 2, "why": "so"}
    run = replace(run, events=(*run.events, Event(5.25, "mine", "s", mixed)))
    got = messages(run.to_mcap(tmp_path / "run.mcap"))["/events"]
    assert [m.ros_msg.time for m in got] == [event.time for event in run.events]
    for message, event in zip(got, run.events, strict=True):
        m = message.ros_msg
        assert message.schema.name == "humans_msgs/msg/SimulationEvent"
        assert nanoseconds(m.header.stamp) == message.log_time_ns
        assert (m.kind, m.subject) == (event.kind, event.subject)
        values = dict(zip(m.value_names, m.values, strict=True))
        assert values == {
            n: v for n, v in event.detail.items() if not isinstance(v, str)
        }
        if event.kind != "mine":
            assert m.detail == event.detail.get("text", "")
    assert got[-1].ros_msg.detail == "häls; why: so"


def test_mcap_of_a_biped(drop: Run, tmp_path: Path) -> None:
    """Joints, base and transform of every sample; twists in the base's frame."""
    by_topic = messages(drop.to_mcap(tmp_path / "run.mcap"))
    joints = [m.ros_msg for m in by_topic["/joint_states"]]
    assert {tuple(m.name) for m in joints} == {drop.velocity_names[6:]}
    assert np.array_equal([m.position for m in joints], drop.q[:, 7:])
    assert np.array_equal([m.velocity for m in joints], drop.v[:, 6:])
    assert np.array_equal([m.effort for m in joints], drop.torques[:, 6:])
    assert np.ptp(drop.q[:, 7:]) > 0
    for k, name in enumerate(drop.velocity_names[6:]):
        got = [m.ros_msg.data for m in by_topic[f"/joints/{name}"]]
        assert np.array_equal(got, drop.q[:, 7 + k]), name
    odometry = [m.ros_msg for m in by_topic["/odom"]]
    base = [
        numbers(m.pose.pose.position) + numbers(m.pose.pose.orientation, "xyzw")
        for m in odometry
    ]
    assert np.array_equal(base, drop.q[:, :7])
    twist = [
        numbers(m.twist.twist.linear) + numbers(m.twist.twist.angular) for m in odometry
    ]
    assert np.array_equal(twist, drop.v[:, :6])
    frames = {(m.header.frame_id, m.child_frame_id) for m in odometry}
    links = [m.ros_msg.transforms for m in by_topic["/tf"]]
    frames |= {(link[0].header.frame_id, link[0].child_frame_id) for link in links}
    assert frames == {("world", "base_link")}
    poses = [
        numbers(link[0].transform.translation)
        + numbers(link[0].transform.rotation, "xyzw")
        for link in links
    ]
    assert np.array_equal(poses, drop.q[:, :7])


def test_mcap_of_general_coordinates(block: Run, tmp_path: Path) -> None:
    """All coordinates are joints; there is no base."""
    by_topic = messages(block.to_mcap(tmp_path / "run.mcap"))
    assert not {"/odom", "/tf"} & set(by_topic)
    joints = [m.ros_msg for m in by_topic["/joint_states"]]
    assert {tuple(m.name) for m in joints} == {("x", "z", "angle")}
    assert np.array_equal([m.position for m in joints], block.q)
    assert np.array_equal([m.velocity for m in joints], block.v)
    assert np.array_equal([m.effort for m in joints], block.torques)


def test_mcap_contacts(run: Run, tmp_path: Path) -> None:
    """Mode, gap and force of the contact points; NaN is what only a model knows."""
    points = [k for k, kind in enumerate(run.table.kinds) if kind == "point"]
    sent = messages(write_mcap(run, tmp_path / "run.mcap"))["/ground_contacts"]
    states = [m.ros_msg for m in sent]
    assert {m.header.frame_id for m in states} == {"contact"}
    assert all(m.soles == [] for m in states)
    tags = [k for k in points if not link_of(run.table.names[k], run.info)]
    known = {run.table.names[k] for k in tags}
    assert all(p.name in known or p.mode for m in states for p in m.points)
    for column, k in enumerate(tags):
        of = [m.points[column] for m in states]
        assert {p.name for p in of} == {run.table.names[k]}
        assert [p.mode for p in of] == run.contacts[:, k].tolist()
        assert [p.gap for p in of] == run.gaps[:, k].tolist()
        tangents_then_normal = run.forces[:, k][:, [1, 2, 0]]
        assert np.array_equal([numbers(p.force) for p in of], tangents_then_normal)
        unknown = [
            v
            for p in of
            for w in (p.position, p.normal, p.velocity)
            for v in numbers(w)
        ]
        assert np.isnan(unknown).all()
    closed = [
        run.contacts[k, [p for p in points if p not in tags]] for k in range(len(run))
    ]
    shown = [len(tags) + np.count_nonzero(modes) for modes in closed]
    assert [len(m.points) for m in states] == shown
    surface = "ground" if "base_x" in run.position_names else ""
    assert {p.surface for m in states for p in m.points} == {surface}


def test_joint_limits_are_no_ground_contacts(drop: Run, tmp_path: Path) -> None:
    """The drop has limits at its elbows, and a pendulum has nothing but its stop."""
    assert "limit" in drop.table.kinds
    sent = messages(drop.to_mcap(tmp_path / "drop.mcap"))["/ground_contacts"]
    assert not any("elbow" in p.name for p in sent[-1].ros_msg.points)
    run = Simulation(pendulum(-0.2)).run(np.array([0.1]), t_end=0.02)
    assert "/ground_contacts" not in messages(run.to_mcap(tmp_path / "p.mcap"))


def test_mcap_surfaces(block: Run, tmp_path: Path) -> None:
    """In a scene of several solids, a contact's name holds its surface."""
    named = replace(block.table, names=("a/b/ground", "a/chair_seat"))
    path = replace(block, table=named).to_mcap(tmp_path / "run.mcap")
    points = messages(path)["/ground_contacts"][0].ros_msg.points
    got = [(p.name, p.surface) for p in points]
    assert got == [("a/b", "ground"), ("a", "chair_seat")]


def test_mcap_energy(run: Run, tmp_path: Path) -> None:
    """One topic for each energy."""
    by_topic = messages(run.to_mcap(tmp_path / "run.mcap"))
    names = ("kinetic", "potential", "total")
    got = [[m.ros_msg.data for m in by_topic[f"/energy/{n}"]] for n in names]
    assert np.array_equal(got[:2], run.energy.T)
    assert np.array_equal(got[2], run.energy.sum(axis=1))


def test_mcap_where_coordinates_and_velocities_differ(
    block: Run, tmp_path: Path
) -> None:
    """Velocities that have no coordinate of their own stay out of joint_states."""
    odd = replace(block, q=np.hstack([block.q, block.q[:, :1]]))
    odd = replace(odd, position_names=("a", "b", "c", "d"))
    message = messages(odd.to_mcap(tmp_path / "run.mcap"))["/joint_states"][-1].ros_msg
    assert message.name == ["a", "b", "c", "d"]
    assert message.position == odd.q[-1].tolist()
    assert message.velocity == message.effort == []


@pytest.mark.parametrize("time", [-0.001, 2.0**31, math.nan])
def test_times_a_stamp_cannot_hold(block: Run, tmp_path: Path, time: float) -> None:
    """They are refused, of samples and of events, and nothing is written."""
    t = block.t.copy()
    t[0] = time
    with pytest.raises(ParameterError, match=r"time of .* s cannot be written to MCAP"):
        replace(block, t=t).to_mcap(tmp_path / "run.mcap")
    with pytest.raises(ParameterError, match="cannot be written to MCAP"):
        replace(block, events=(Event(time, "mine"),)).to_mcap(tmp_path / "run.mcap")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["event", "name"])
@pytest.mark.parametrize("write", [Run.to_csv, Run.to_mcap])
def test_failure_keeps_the_old_files(
    block: Run, tmp_path: Path, write: Write, place: str
) -> None:
    """Text that cannot be encoded, early or late, leaves old files and no others."""
    write(block, tmp_path / "run.x")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    odd = "\udc00"
    if place == "event":
        broken = replace(block, events=(*block.events, Event(0.79, "mine", odd)))
    else:
        broken = replace(block, position_names=("x", "z", odd))
    for folder in (tmp_path, tmp_path / "new"):
        with pytest.raises(UnicodeEncodeError):
            write(broken, folder / "run.x")
    after = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    assert after == before
    assert not list((tmp_path / "new").iterdir())


def fields(text: str) -> list[str]:
    """Fields and constants of a definition: no comments, single spaces."""
    lines = (" ".join(line.partition("#")[0].split()) for line in text.splitlines())
    return [line for line in lines if line]


@pytest.mark.parametrize("name", [n for n in definitions() if n.startswith("humans_")])
def test_definitions_of_humans_msgs(name: str) -> None:
    """They are those of the message package."""
    source = ROOT / "msgs" / "msg" / f"{name.partition('/')[2]}.msg"
    assert fields(definitions()[name]) == fields(source.read_text())


def test_kinds_of_events_are_constants_of_the_message() -> None:
    """Kinds of events are those of SimulationEvent."""
    constants = fields(definitions()["humans_msgs/SimulationEvent"])
    words = {n: v for n, v in vars(events).items() if isinstance(v, str)}
    kinds = {n: v for n, v in words.items() if v == n.lower()}
    for contact in ("POINT", "LIMIT", "LINK"):
        del kinds[contact]
    assert len(kinds) >= 11
    for name, kind in kinds.items():
        assert f'string {name}="{kind}"' in constants


def test_schema_is_complete() -> None:
    """A schema holds each message inside it once, after a line of 80 signs."""
    top, *parts = schema("humans_msgs/ContactStates").split("=" * 80 + "\nMSG: ")
    assert fields(top) == fields(definitions()["humans_msgs/ContactStates"])
    inside = {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}
    assert set(inside) == {
        "std_msgs/Header",
        "builtin_interfaces/Time",
        "humans_msgs/ContactPoint",
        "humans_msgs/SoleContact",
        "geometry_msgs/Point",
        "geometry_msgs/Vector3",
        "geometry_msgs/Wrench",
    }
    assert len(inside) == len(parts)
    assert all(fields(inside[name]) == fields(definitions()[name]) for name in inside)


@pytest.mark.ros
def test_definitions_of_ros() -> None:
    """They are those of the ROS 2 installation."""
    index = pytest.importorskip("ament_index_python.packages")
    for name, text in definitions().items():
        package, _, message = name.partition("/")
        share = Path(index.get_package_share_directory(package))
        installed = (share / "msg" / f"{message}.msg").read_text()
        assert fields(text) == fields(installed), name


def plain(value: Any) -> Any:
    """A message, of ROS or of mcap_ros2, as dicts, lists, text and numbers."""
    names = getattr(value, "__slots__", None)
    if hasattr(value, "get_fields_and_field_types"):
        names = value.get_fields_and_field_types()
    if names is not None:
        return {name: plain(getattr(value, name)) for name in names}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple | bytes):
        return [plain(item) for item in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.ros
def test_messages_are_those_of_ros(drop: Run, tmp_path: Path) -> None:
    """ROS 2 itself reads the same from every message."""
    serialization = pytest.importorskip("rclpy.serialization")
    seen = set()
    with drop.to_mcap(tmp_path / "run.mcap").open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        for kind, channel, message, own in reader.iter_decoded_messages():
            package, _, name = kind.name.split("/")
            ros_kind = getattr(importlib.import_module(f"{package}.msg"), name)
            read = serialization.deserialize_message(message.data, ros_kind)
            if channel.topic == LARGE:
                assert len(read.markers) == len(own.markers)
                read, own = read.markers[-1], own.markers[-1]
            assert plain(read) == plain(own)
            seen.add(channel.topic)
    assert {"/joint_states", "/events", "/ground_contacts", "/odom", "/tf"} <= seen
    assert {"/walk_markers", "/contact_markers", *ONCE} <= seen
