# SPDX-License-Identifier: Apache-2.0
"""The numbers that tune the search for postures (:mod:`..search_settings`).

They lie beside ``markers`` and ``posture``, since files of pipeline settings have them.
"""

from humans_sim.observation.search_settings import (
    GateSettings,
    SmootherSettings,
    SolverSettings,
    StartSettings,
    TrackSettings,
    UncertaintySettings,
)

__all__ = [
    "GateSettings",
    "SmootherSettings",
    "SolverSettings",
    "StartSettings",
    "TrackSettings",
    "UncertaintySettings",
]
