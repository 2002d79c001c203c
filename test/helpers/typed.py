# SPDX-License-Identifier: Apache-2.0
"""humans-sim in a process of its own, as a person types it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import IO

Process = subprocess.Popen[str]


def type_command(*words: object, **variables: str) -> Process:
    """Start a command; its output is not buffered, and Ctrl-C reaches it."""
    return subprocess.Popen(
        [sys.executable, "-m", "humans_sim", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "160", "NO_COLOR": "1", **variables},
        start_new_session=True,
        # Tests that a shell runs in the background ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run_command(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Type a command and wait for its end."""
    process = type_command(*words, **variables)
    out, errors = process.communicate(timeout=120)
    assert "Traceback" not in errors, errors
    return subprocess.CompletedProcess(words, process.returncode, out, errors)


def wait_for_line(stream: IO[str] | None, text: str) -> str:
    """Read until a line holds a text; that line."""
    assert stream is not None
    for line in stream:
        if text in line:
            return line
    raise AssertionError(f"'{text}' never came")
