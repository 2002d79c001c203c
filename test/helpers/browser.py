# SPDX-License-Identifier: Apache-2.0
"""Pictures of pages through a real Chromium."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from humans_sim.core.doctor import find_chromium

FLAGS = """--headless --no-sandbox --disable-quic --no-first-run --disable-sync
--disable-background-networking --disable-component-update --use-angle=swiftshader
--enable-unsafe-swiftshader --window-size=1000,700 --hide-scrollbars""".split()
ATTEMPTS, PATIENCE = 3, 90.0
"""A browser on a busy machine may never draw: it is ended, and started again [s]."""


def screenshot(url: str, folder: Path, budget: int) -> np.ndarray:
    """Picture of a page after so many milliseconds of its time, (height, width, 3)."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium found (Debian: apt-get install chromium)")
    picture = folder / f"page_{budget}.png"
    for attempt in range(ATTEMPTS):
        profile = folder / f"profile_{budget}_{attempt}"
        command = [chromium, *FLAGS, f"--user-data-dir={profile}"]
        command += [f"--virtual-time-budget={budget}", f"--screenshot={picture}", url]
        browser = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            ended = browser.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        finally:
            if browser.poll() is None:
                os.killpg(browser.pid, signal.SIGKILL)
                browser.wait()
        if ended == 0 and picture.is_file():
            return np.asarray(Image.open(picture).convert("RGB")).astype(int)
    raise AssertionError(f"Chromium drew no picture of {url} in {ATTEMPTS} attempts")


def page_address(viewer: Any) -> str:
    """Of the page of a node ``viewer``, as its process says it."""
    for line in viewer.stdout:
        if " is shown at " in line:
            return str(line.rpartition(" is shown at ")[2].strip())
    raise AssertionError("the viewer ended before it opened its page")
