# SPDX-License-Identifier: Apache-2.0
"""Node ``marker_player``: markers of a file, or synthetic, as if cameras saw them now.

Publishes ``markers`` (humans_msgs/MarkerFrame) with the timing of the file. Services:
``~/pause`` (std_srvs/SetBool; false resumes), ``~/restart`` (std_srvs/Trigger). Without
a file it plays the markers of a motion of the model itself, with noise and occlusions.
"""

from __future__ import annotations

from typing import Any

from humans_msgs.msg import MarkerFrame
from std_msgs.msg import Header
from std_srvs.srv import SetBool, Trigger

from humans_sim.control.trajectories.trajectory import Sway
from humans_sim.core.errors import ParameterError
from humans_sim.nodes.common.conversions import time_of
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics
from humans_sim.nodes.common.marker_messages import marker_frame
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.observation.markers.marker_set import CANONICAL, load_marker_set
from humans_sim.observation.markers.playback import FACTORS, Playback
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.markers.synthetic import swapped, swaying, synthetic_trial
from humans_sim.observation.markers.trial import MarkerTrial, part_of

_DEPTH = 100
_SHORTEST = 0.001
"""Least time between two looks at the clock [s]."""
_EARLY = 0.25
"""A frame may go out so much of a period before its time: timers are not exact."""


class MarkerPlayer(ModelNode):
    """Plays a trial."""

    usual_model = "human36"

    def __init__(self, name: str = "marker_player", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        self._trial, self._title = self._read(given)
        factor = given.number("rate", 1.0, "speed over that of the file", *FACTORS)
        loop = given.flag("loop", True, "begin again at the end")
        self._frame = given.text("frame_id", "world", "frame of the laboratory")
        self._waits = given.flag(
            "wait_for_subscriber", True, "begin when somebody listens"
        )
        self._playback = Playback(self._trial, factor, loop)
        self._begun, self._sent = False, 0
        self._diagnostics = Diagnostics(self, "markers", self._title)
        self._markers = self.create_publisher(MarkerFrame, "markers", _DEPTH)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/restart", self._on_restart)
        period = max(self._playback.period, _SHORTEST)
        self._early = round(1e9 * _EARLY * period)
        self.create_timer(period, self._tick)
        self.every(BEAT, self._diagnose)
        self.get_logger().info(f"plays {self._title}: {self._trial}")

    def _read(self, given: Parameters) -> tuple[MarkerTrial, str]:
        path = given.path("file", "trc, c3d or csv; empty: a motion of the model")
        up = given.text("up", "", "axis of the file that points up; empty: as it says")
        units = given.text("units", "", "of the file; empty: as it says")
        rate = given.number(
            "sampling_rate", 0.0, "of the file [Hz]; 0: as it says", 0.0, 1e5
        )
        start = given.number("start_time", 0.0, "first sample, in the file's time [s]")
        end = given.number("end_time", 0.0, "last sample [s]; 0: to the end")
        made_up = self._make_up(given, made_up=path is None)
        if made_up is not None:
            return part_of(made_up, start, end), f"a motion of {self.model.name}"
        assert path is not None
        trial = read_markers(
            path, up=up or None, units=units or None, rate=rate or None
        )
        for note in trial.notes:
            self.get_logger().warning(f"{path.name}: {note}")
        return part_of(trial, start, end), path.name

    def _make_up(self, given: Parameters, made_up: bool) -> MarkerTrial | None:
        """Markers of a motion of the model; None where there is a file."""
        chosen = given.text("marker_set", CANONICAL, "name or path of a marker set")
        motion = given.path("motion", "as in config/motions; empty: the model's own")
        rate = given.number("synthetic.rate", 100.0, "[Hz]", 1.0, 1e3)
        periods = given.count("synthetic.periods", 2, "of the motion", 1)
        noise = given.number("synthetic.noise", 0.002, "of coordinates [m]", 0.0, 1.0)
        dropout = given.number("synthetic.dropout", 0.05, "share not seen", 0.0, 0.9)
        gap = given.number("synthetic.gap", 0.2, "mean occlusion [s]", 0.0, 60.0)
        seed = given.count("synthetic.seed", 0, "of noise and occlusions")
        pair = given.texts("synthetic.swap", "two markers that are mistaken")
        when = given.numbers("synthetic.swap_times", "from and to when [s]", 2)
        if pair and (len(pair) != 2 or not when):
            raise ParameterError(
                "synthetic.swap wants two markers, and synthetic.swap_times two times"
            )
        if not made_up:
            return None
        model, person = self.model, self.subject
        sway = Sway.of_model(model) if not motion else Sway.from_file(model, motion)
        trial = synthetic_trial(
            model,
            person.marker_set() if person else load_marker_set(chosen, model),
            swaying(model, sway),
            duration=periods * sway.period,
            rate=rate,
            noise=noise,
            dropout=dropout,
            gap=gap,
            seed=seed,
        )
        return swapped(trial, pair, when[0], when[1]) if pair else trial

    @property
    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _tick(self) -> None:
        if not self._begun:
            if self._waits and not self._markers.get_subscription_count():
                return
            self._begun = True
            self._playback.restart(self._now)
        trial = self._trial
        # Synthetic motions are periodic: their frames are counted on.
        step = len(trial) if trial.source is None else 0
        for due in self._playback.due(self._now + self._early):
            header = Header(stamp=time_of(due.stamp), frame_id=self._frame)
            number = (int(trial.frames[due.row]) + step * due.round) % 2**32
            self._markers.publish(marker_frame(header, number, trial, due.row))
            self._sent += 1

    def _on_pause(self, request: Any, response: Any) -> Any:
        self._playback.pause(request.data, self._now)
        response.success, response.message = True, self._playback.state
        return response

    def _on_restart(self, _: Any, response: Any) -> Any:
        self._begun = True
        self._playback.restart(self._now)
        response.success, response.message = True, self._playback.state
        return response

    def _diagnose(self) -> None:
        playback, trial = self._playback, self._trial
        state = playback.state if self._begun else "waiting for a subscriber"
        values = {
            "source": self._title,
            "markers": str(len(trial.names)),
            "sample": str(playback.row),
            "samples": str(len(trial)),
            "time in the trial [s]": f"{trial.times[playback.row]:.9g}",
            "sent": str(self._sent),
            "delays": str(playback.slips),
        }
        self._diagnostics.publish(state, "", "", values)
