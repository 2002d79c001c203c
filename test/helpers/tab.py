# SPDX-License-Identifier: Apache-2.0
"""A page in a real Chromium that can be looked at and clicked, by its own protocol."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import FLAGS
from PIL import Image
from websockets.sync.client import connect

from humans_sim.core.doctor import find_chromium

PATIENCE = 180.0
"""How long anything may take on a busy machine [s]."""
_CLICK = """
(name) => {
  const wanted = [...document.querySelectorAll("button")].find(
    (e) => e.innerText.trim() === name && e.offsetParent !== null);
  if (wanted) wanted.click();
  return Boolean(wanted);
}
"""
"""Clicks a button that can be seen; a panel may move under a mouse."""

_PLACE = """
(name) => {
  const tab = [...document.querySelectorAll("[role=tab]")].find(
    (e) => e.innerText.trim() === name && e.offsetParent !== null);
  if (!tab) return null;
  const box = tab.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}
"""
"""Middle of a tab that can be seen."""


class Tab:
    """A browser with one page."""

    def __init__(
        self,
        url: str,
        folder: Path,
        size: tuple[int, int] = (1000, 700),
        more_flags: tuple[str, ...] = (),
    ):
        """Open a page; skips the test where there is no Chromium.

        Args:
            url: of the page.
            folder: for the browser's profile.
            size: of the window [pixels].
            more_flags: for the browser.
        """
        chromium = find_chromium()
        if chromium is None:
            pytest.skip("no Chromium found (Debian: apt-get install chromium)")
        flags = [flag for flag in FLAGS if "window-size" not in flag]
        self._browser = subprocess.Popen(
            [chromium, *flags, *more_flags, "--remote-debugging-port=0"]
            + [f"--window-size={size[0]},{size[1]}", f"--user-data-dir={folder}", url],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._number = 0
        try:
            ready = folder / "DevToolsActivePort"
            wait(lambda: ready.is_file() and len(ready.read_text().split()) == 2, "it")
            port, path = ready.read_text().split()
            address = f"ws://127.0.0.1:{port}{path}"
            self._socket = connect(address, max_size=None, open_timeout=PATIENCE)
            self._session = ""
            self._session = self._attach(url)
        except BaseException:
            self.close()
            raise

    def _attach(self, url: str) -> str:
        def pages() -> list[str]:
            targets = self.call("Target.getTargets")["targetInfos"]
            return [t["targetId"] for t in targets if t["url"].startswith(url)]

        wait(lambda: bool(pages()), f"a tab with {url}")
        which = {"targetId": pages()[0], "flatten": True}
        return str(self.call("Target.attachToTarget", **which)["sessionId"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def value(self, script: str) -> Any:
        """The value of a piece of JavaScript."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return result["result"].get("value")

    def text(self) -> str:
        """All words on the page."""
        return str(self.value("document.body ? document.body.innerText : ''"))

    def click(self, name: str) -> None:
        """Click a button, once it is there."""
        click = f"({_CLICK})({json.dumps(name)})"
        wait(lambda: bool(self.value(click)), f"the button {name}")

    def switch_to(self, name: str) -> None:
        """Click a tab of the page by the mouse: nothing else turns its leaves."""
        place = f"({_PLACE})({json.dumps(name)})"
        wait(lambda: self.value(place) is not None, f"the tab {name}")
        x, y = self.value(place)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="none" if kind == "mouseMoved" else "left",
                clickCount=0 if kind == "mouseMoved" else 1,
            )

    def picture(self) -> np.ndarray:
        """What is seen, (height, width, 3)."""
        data = base64.b64decode(self.call("Page.captureScreenshot")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)

    def close(self) -> None:
        """End the browser."""
        if hasattr(self, "_socket"):
            self._socket.close()
        if self._browser.poll() is None:
            os.killpg(self._browser.pid, signal.SIGKILL)
        self._browser.wait()


def wait(condition: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE:g} s for {what}"
        time.sleep(0.05)
