# SPDX-License-Identifier: Apache-2.0
"""Readers that get damaged files, and independent readings of the same files."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fuzz_meanings as simple
import fuzz_readings as readings
from fuzz_meanings import Meaning, yaml_fields, yaml_numbers
from mutations import damaged
from urdf_damage import damaged_urdf
from urdf_numbers import damaged_numbers


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes:
        seeds: folder of its sound files.
        read: reads a file; gives what it means in a few numbers; raises AssertionError
            where it accepts what cannot be.
        simple: an independent reading of the same bytes; the numbers that both give
            must agree. URDFs and the meshes that they name have none here.
        form: of the file, for changes that leave its meaning (``mutations.harmless``).
        cost: of a case, in those of a cheap one.
        name: the file gets; empty: that of its seed.
        beside: files that stand beside it, from other folders of seeds.
        damage: what is done to its files.
    """

    seeds: str
    read: Callable[[Path], Meaning]
    cost: int = 1
    name: str = ""
    beside: tuple[str, ...] = ()
    damage: Callable[[bytes, random.Random, list[bytes]], bytes] = damaged
    simple: Callable[[bytes], Meaning] | None = None
    form: str = ""


_YAML = {"form": "yaml"}
TARGETS: dict[str, Target] = {
    "run": Target("run", readings.check_run, 4, simple=simple.arrays("t", "q", "v")),
    "lazy_run": Target(
        *("run", readings.check_lazy_run, 4),
        simple=simple.arrays("t", "q", "v"),
    ),
    "wrist_run": Target(
        "wrist_run", readings.check_wrist_run, 10, simple=simple.arrays("t", "x")
    ),
    "reconstruction": Target(
        "reconstruction",
        readings.check_reconstruction,
        20,
        simple=simple.arrays("times", "q"),
    ),
    "scenario": Target(
        *("scenarios", readings.check_scenario, 5),
        simple=yaml_numbers(
            end=lambda file: simple.number(file["time"]["end"]),
            period=lambda file: simple.number(file["time"]["sampling_period"]),
        ),
        **_YAML,
    ),
    "graph": Target(
        *("graphs", readings.check_graph),
        simple=yaml_numbers(
            nodes=lambda file: len(file["nodes"]),
            topics=lambda file: len(file["topics"]),
        ),
        **_YAML,
    ),
    "subject": Target(
        *("subject", readings.check_subject, 20),
        simple=yaml_numbers(
            height=lambda file: simple.number(file["height"]),
            mass=lambda file: simple.number(file["mass"]),
            lengths=lambda file: simple.total(file["lengths"].values()),
            markers=lambda file: len(file["markers"]),
            places=lambda file: sum(simple.total(m["at"]) for m in file["markers"]),
        ),
        **_YAML,
    ),
    "marker_set": Target(
        *("marker_sets", readings.check_marker_set, 4),
        simple=yaml_numbers(markers=simple.marker_count),
        **_YAML,
    ),
    "pipeline": Target(
        "pipeline", readings.check_pipeline, simple=yaml_fields(), **_YAML
    ),
    "robot": Target(
        *("kondo", readings.check_robot),
        simple=yaml_numbers(
            channels=lambda file: len(file["channels"]),
            speed=lambda file: simple.number(file["limits"]["speed"]),
            homes=lambda file: simple.total(
                channel["home"] for channel in file["channels"].values()
            ),
        ),
        **_YAML,
    ),
    "robot_setup": Target(
        "robots", readings.check_robot_setup, simple=yaml_fields(), **_YAML
    ),
    "walking": Target("walking", readings.check_walking, simple=yaml_fields(), **_YAML),
    "sway": Target("sway", readings.check_sway, simple=yaml_fields(), **_YAML),
    "model": Target("models", readings.check_model, 10, **_YAML),
    "convention": Target("conventions", readings.check_convention, **_YAML),
    "sensors": Target(
        *("sensors", readings.check_sensors),
        simple=yaml_numbers(
            sensors=len,
            rates=lambda file: simple.total(entry["rate"] for entry in file.values()),
        ),
        **_YAML,
    ),
    "network": Target(
        *("networks", readings.check_network, 2),
        simple=yaml_numbers(masses=simple.network_masses, mass=simple.network_mass),
        **_YAML,
    ),
    "ground": Target(
        *("grounds", readings.check_ground, 2),
        beside=("pictures", "heights", "meshes"),
        simple=yaml_numbers(
            friction=lambda file: simple.number(file["friction"]),
        ),
        **_YAML,
    ),
    "scene": Target(
        *("scenes", readings.check_scene, 4),
        simple=yaml_numbers(
            bodies=lambda file: len(file["bodies"]), mass=simple.body_mass
        ),
        **_YAML,
    ),
    "wrist": Target("wrists", readings.check_wrist, 10, beside=("bones",), **_YAML),
    "urdf": Target("urdf", readings.check_urdf, 1, "robot.urdf", form="xml"),
    "urdf_numbers": Target(
        "biped",
        readings.check_urdf_numbers,
        4,
        "robot.urdf",
        damage=damaged_numbers,
    ),
    "urdf_side": Target(
        "side", readings.check_side, 1, "robot.yaml", ("urdf",), **_YAML
    ),
    "init_robot": Target(
        "biped", readings.check_init_robot, 8, "robot.urdf", damage=damaged_urdf
    ),
    "xacro": Target("xacro", readings.check_urdf, 1, "robot.xacro", form="xml"),
    "body": Target("bodies", readings.check_body, form="xml"),
    "mesh": Target("mesh", readings.check_mesh, 4, "box.obj", ("urdf",)),
    "mesh_drawn": Target(
        "drawn", readings.check_drawn, 8, beside=("buffers", "materials")
    ),
    "mesh_buffer": Target(
        "buffers", readings.check_buffer, 8, beside=("drawn", "buffers")
    ),
    "mesh_material": Target("materials", readings.check_material, 8, beside=("drawn",)),
    "trc": Target("trc", readings.check_markers, simple=simple.trc, form="table"),
    "c3d": Target("c3d", readings.check_markers, simple=simple.c3d),
    "forces": Target(
        "forces", readings.check_forces, simple=simple.forces, form="table"
    ),
    "optotrak": Target(
        "optotrak", readings.check_markers, simple=simple.optotrak, form="table"
    ),
    "rec_pos": Target(
        "rec_pos", readings.check_rec_pos, simple=simple.columns(1), form="table"
    ),
    "rec_pos_bin": Target(
        "rec_pos_bin", readings.check_rec_pos_bin, simple=simple.doubles
    ),
    "parameters": Target("parameters", readings.check_parameters, 20, form="table"),
    "motion": Target(
        "motion", readings.check_motion, simple=simple.motion, form="table"
    ),
    "traj3": Target("traj3", readings.check_traj3, simple=simple.traj3, form="table"),
    "correspondence": Target("correspondence", readings.check_correspondence),
    "frame": Target(
        *("frame", readings.check_frame),
        simple=yaml_numbers(translation=lambda file: simple.total(file["translation"])),
        **_YAML,
    ),
    "record": Target(
        "record", readings.check_record, simple=simple.record, form="json"
    ),
    "expression": Target(
        "expression", readings.check_expression, simple=simple.expression, form="table"
    ),
    "terrain_image": Target("pictures", readings.check_picture, 2),
    "terrain_heights": Target("heights", readings.check_heights, simple=simple.heights),
    "terrain_mesh": Target(
        *("meshes", readings.check_terrain_mesh, 2),
        simple=simple.mesh,
    ),
    "stack": Target("stacks", readings.check_stack, 2, simple=simple.stack),
    "series": Target("series", readings.check_series, 2, beside=("series",)),
    "ball_model": Target(
        "balls", readings.check_ball_model, 2, simple=simple.arrays("centres", "radii")
    ),
    "bone": Target("bones", readings.check_bone, 4),
}
