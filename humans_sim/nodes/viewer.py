"""Node ``viewer``: a web page that shows the model as the topics say it is.

Takes ``joint_states`` and odometry. Parameters: ``model``, ``odometry_topic``, ``host``
(127.0.0.1: this machine only), ``port``, ``rate`` of the page [Hz].
"""

from __future__ import annotations

from typing import Any

from rclpy.clock import Clock, ClockType

from humans_sim.errors import ParameterError
from humans_sim.nodes.model_node import run_process
from humans_sim.nodes.state_listener import StateListener
from humans_sim.view.scene import DEFAULT_PORT, Scene


class Viewer(StateListener):
    """Serves the page and keeps it up to date."""

    def __init__(self, name: str = "viewer", **options: Any) -> None:
        """Open the page."""
        super().__init__(name, **options)
        host = str(self.declare_parameter("host", "127.0.0.1").value)
        port = int(self.declare_parameter("port", DEFAULT_PORT).value)
        rate = float(self.declare_parameter("rate", 30.0).value)
        if not 0.0 < rate <= 120.0:
            raise ParameterError(f"rate must be in (0, 120] Hz, not {rate}")
        self._scene = Scene(self.model, host, port)
        self._changed = False
        # The page is drawn on the wall clock, whatever clock the robot lives on.
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0 / rate, self._draw, clock=wall)
        self.get_logger().info(f"{self.model.name} is shown at {self._scene.url}")

    def on_state(self, stamp: Any) -> None:
        """Note that there is something new to draw."""
        self._changed = True

    def _draw(self) -> None:
        if self._changed:
            self._changed = False
            self._scene.show(self.configuration())

    def close(self) -> None:
        """Close the page."""
        self._scene.stop()


def main() -> None:
    """Run the node in its own process."""
    run_process(Viewer)


if __name__ == "__main__":
    main()
