# SPDX-License-Identifier: Apache-2.0
"""A page on which a biped walks, simulated in this process: no ROS is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from humans_sim.control.walking import Velocity, WalkSettings
from humans_sim.control.walking.footsteps import FootstepPlanner
from humans_sim.models import Model
from humans_sim.view.browser.live_walk import LiveWalk
from humans_sim.view.browser.panel import Actions
from humans_sim.view.browser.scene import DEFAULT_PORT
from humans_sim.view.browser.walk_page import WalkPage

RATE = 30.0
"""Pictures a second."""
_SHARE = 0.6
"""Share of its largest speed with which a biped sets off."""


def cruise(settings: WalkSettings) -> Velocity:
    """An easy speed forwards."""
    most = FootstepPlanner(settings).limited(Velocity(vx=1e6)).vx
    return Velocity(vx=float(f"{_SHARE * most:.1g}"))


class LivePage:
    """A walk and the page that shows it.

    Attributes:
        walk: the walk.
        page: the page.
    """

    def __init__(
        self, walk: LiveWalk, host: str = "127.0.0.1", port: int = DEFAULT_PORT
    ) -> None:
        """Open the page and begin the walk.

        Args:
            walk: not yet begun.
            host: address to listen on; the default is reached from this machine only.
            port: first port to try; 0 takes any free one.
        """
        self.walk = walk
        self.page = WalkPage(walk.model, host, port, walk.ground)
        actions = Actions(
            walk.pause,
            walk.reset,
            walk.push,
            walk.set_speed,
            walk.command,
            get_up=walk.get_up if walk.can_get_up else None,
        )
        panel = self.page.add_panel(actions, walk.walker.settings)
        panel.set_velocity(walk.velocity)
        walk.start()

    def run(
        self,
        seconds: float | None = None,
        stop: threading.Event | None = None,
        rate: float = RATE,
    ) -> None:
        """Show the walk until ``stop`` is set, for some time or for ever.

        Args:
            seconds: how long; None: for ever.
            stop: ends it.
            rate: pictures a second.
        """
        begun, ended = time.monotonic(), stop or threading.Event()
        while not ended.wait(1.0 / rate):
            self.page.show(self.walk.seen)
            if seconds is not None and time.monotonic() - begun >= seconds:
                return

    def close(self) -> None:
        """End the walk and close the page."""
        self.walk.stop()
        self.page.stop()


def show_walk(
    model: Model,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    seconds: float | None = None,
    opened: Callable[[str], None] = lambda url: None,
) -> None:
    """Show a biped that walks, until Ctrl-C or for some time.

    Args:
        model: a biped with settings for a walk.
        host: address to listen on; the default is reached from this machine only.
        port: first port to try; 0 takes any free one.
        seconds: how long; None: until Ctrl-C.
        opened: called with the address of the page.

    Raises:
        ParameterError: no walk is set up for the model.
    """
    settings = WalkSettings.of_model(model)
    live = LivePage(LiveWalk(model, settings, velocity=cruise(settings)), host, port)
    opened(live.page.url)
    try:
        live.run(seconds)
    except KeyboardInterrupt:
        pass
    finally:
        live.close()
