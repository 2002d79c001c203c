# SPDX-License-Identifier: Apache-2.0
"""Optical markers: their files, and what is done to them before reconstruction."""

from humans_sim.observation.markers.c3d_file import write_c3d
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.pipeline import PipelineSettings, prepare
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.markers.trc_file import write_trc
from humans_sim.observation.markers.trial import MarkerTrial

__all__ = [
    "MarkerFileError",
    "MarkerTrial",
    "PipelineSettings",
    "prepare",
    "read_markers",
    "write_c3d",
    "write_trc",
]
