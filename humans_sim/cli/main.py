# SPDX-License-Identifier: Apache-2.0
"""The command ``humans-sim``: its beginning and its end.

Light: signals are handled before anything heavy is loaded. Exit codes are those of
docs/cli.md.
"""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

from humans_sim.cli import signals

_ALLOCATIONS = 50_000
"""Objects after which garbage is looked for: libraries make many that stay."""


def main() -> NoReturn:
    """Run the command that was typed."""
    try:
        signals.install()
        gc.set_threshold(_ALLOCATIONS)
        from humans_sim.cli.commands import run_app

        code = run_app(sys.argv[1:])
    except BaseException:
        interrupted = signals.pending_exit_code()
        if interrupted is None:
            raise
        code = interrupted
    signals.finish(code)


if __name__ == "__main__":
    main()
