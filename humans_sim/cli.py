# SPDX-License-Identifier: Apache-2.0
"""The command ``humans-sim``: its beginning and its end.

Light: signals are handled before anything heavy is loaded. Exit codes are those of
docs/cli.md.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from humans_sim import cli_signals


def main() -> NoReturn:
    """Run the command that was typed."""
    try:
        cli_signals.install()
        from humans_sim.cli_run_app import run_app

        code = run_app(sys.argv[1:])
    except BaseException:
        interrupted = cli_signals.pending_exit_code()
        if interrupted is None:
            raise
        code = interrupted
    cli_signals.finish(code)


if __name__ == "__main__":
    main()
