# SPDX-License-Identifier: Apache-2.0
"""``python -m humans_sim`` is ``humans-sim``."""

from humans_sim.cli.main import main

main()
