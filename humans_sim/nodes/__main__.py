# SPDX-License-Identifier: Apache-2.0
"""A node as a program: ``python -m humans_sim.nodes walk``.

``ros2 run humans_sim walk`` comes here by ``resource/run_node``.

Signals are handled before anything large is imported: a process that is stopped while
it loads ends at once and in silence.
"""

import os
import signal
import sys


def main() -> None:
    """Run the node that the first word names."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    if len(sys.argv) < 2:
        print("usage: python -m humans_sim.nodes NODE [ARGUMENTS]", file=sys.stderr)
        raise SystemExit(2)
    name = sys.argv.pop(1)
    from humans_sim.core.doctor import no_ros
    from humans_sim.core.errors import HumansError

    try:
        try:
            from humans_sim.nodes.common.model_node import node_class
            from humans_sim.nodes.common.process import run_process

            factory = node_class(name)
        except ImportError as error:
            raise no_ros(error) from None
    except HumansError as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    run_process(name, factory)


if __name__ == "__main__":
    main()
