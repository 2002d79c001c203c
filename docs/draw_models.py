# SPDX-License-Identifier: Apache-2.0
"""Draw docs/images/models.png: the models as the browser viewer shows them.

It needs a Chromium; each model is shown by ``humans-sim view``, without its panel.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test" / "helpers"))

from tab import Tab, wait  # noqa: E402

MODELS = ["human36", "bip", "khr1"]
SIZE = (620, 860)
"""Of each picture [pixels]."""
SETTLING = 20.0
"""Until meshes are loaded and drawn by software [s]."""
_HIDE = """
for (const part of ["Paper-root", "Affix", "Notification"])
  document.querySelectorAll(`[class*=mantine-${part}]`).forEach(
    (e) => e.querySelector("canvas") || e.remove())
"""
"""Removes the panel and notices."""


def picture(model: str) -> np.ndarray:
    """What the page of a model shows (height, width, 3)."""
    command = [sys.executable, "-m", "humans_sim", "view", model, "--port", "0"]
    page = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    tab = None
    try:
        assert page.stdout is not None
        address = next(
            found.group()
            for line in page.stdout
            if (found := re.search(r"http://[^ ]+", line))
        )
        tab = Tab(address, Path(tempfile.mkdtemp()), SIZE)
        wait(lambda: len(tab.text()) > 40, f"the page of {model}")
        time.sleep(SETTLING)
        tab.value(_HIDE)
        time.sleep(2.0)
        return tab.picture()
    finally:
        if tab is not None:
            tab.close()
        page.terminate()
        page.wait()


def main() -> None:
    """The models, side by side."""
    shots = [picture(name) for name in MODELS]
    height = min(len(shot) for shot in shots)
    part = slice(height // 12, height - height // 8)  # less sky, less floor
    row = np.hstack([shot[part] for shot in shots]).astype(np.uint8)
    Image.fromarray(row).save(HERE / "images" / "models.png", optimize=True)


if __name__ == "__main__":
    main()
