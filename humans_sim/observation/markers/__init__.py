# SPDX-License-Identifier: Apache-2.0
"""Optical markers: their files, and what is done to them before reconstruction."""

from humans_sim.observation.markers.c3d_writer import write_c3d
from humans_sim.observation.markers.force_plate import ForcePlate, GroundReaction
from humans_sim.observation.markers.pipeline import PipelineSettings, prepare
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.markers.trc_file import read_force_file, write_trc
from humans_sim.observation.markers.trial import (
    AnalogChannels,
    MarkerFileError,
    MarkerTrial,
    TrialEvent,
)

__all__ = [
    "AnalogChannels",
    "ForcePlate",
    "GroundReaction",
    "MarkerFileError",
    "MarkerTrial",
    "PipelineSettings",
    "TrialEvent",
    "prepare",
    "read_force_file",
    "read_markers",
    "write_c3d",
    "write_trc",
]
