# SPDX-License-Identifier: Apache-2.0
"""Pages of others in the same real browser, and the page itself beside them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import viser
from tab import Tab, wait

from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.scene import free_port

from .test_panel import control

_ATTACK = """
<html><body><script>
window.log = [];
const socket = new WebSocket(ADDRESS, [PROTOCOL]);
socket.onopen = () => { window.log.push("open"); };
socket.onmessage = () => { window.log.push("message"); };
socket.onerror = () => { window.log.push("refused"); };
fetch(PAGE).then((r) => r.text()).then((t) => window.log.push("read"),
                                       () => window.log.push("unread"));
</script></body></html>
"""
"""Connects to the page and reads it from elsewhere, with the browser's cookies."""
_DRAG = """
(name, key) => {
  const label = [...document.querySelectorAll("label")].find(
    (e) => e.innerText.trim() === name);
  const row = label && label.closest("div:has([role=slider])");
  const thumb = row && row.querySelector("[role=slider]");
  if (!thumb) return false;
  thumb.focus();
  thumb.dispatchEvent(new KeyboardEvent("keydown", {key, code: key, bubbles: true}));
  return true;
}
"""
"""Moves a slider by a key."""


@pytest.fixture
def page() -> Iterator[PageServer]:
    """A page with a slider, and nothing that a slow browser must draw."""
    made = PageServer("127.0.0.1", free_port("127.0.0.1", 0))
    made.viser.gui.add_slider("Joint", -1.0, 1.0, 0.1, 0.0)
    yield made
    made.stop()


class Elsewhere(HTTPServer):
    """Another page of the same machine: to a browser the same site."""

    def __init__(self, page: str) -> None:
        """Serve a page on any port."""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # noqa: N802
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page.encode())

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


@pytest.mark.study
@pytest.mark.browser
def test_a_page_elsewhere_gets_nothing(page: PageServer, tmp_path: Path) -> None:
    """The page's own slider acts; another page with its cookie connects to nothing."""
    port = urlsplit(page.url).port
    values = {
        "ADDRESS": f"ws://127.0.0.1:{port}/",
        "PAGE": f"http://127.0.0.1:{port}/",
        "PROTOCOL": f"viser-v{viser.__version__}",
    }
    attack = _ATTACK
    for name, value in values.items():
        attack = attack.replace(name, json.dumps(value))
    hostile = Elsewhere(attack)
    tab = Tab(page.url, tmp_path / "profile", (480, 360))
    try:
        wait(lambda: "Joint" in tab.text(), "the page")
        wait(lambda: bool(page.viser.get_clients()), "its connection")
        slider = control(page.viser, "Joint")
        before = slider.value
        press = f"({_DRAG})({json.dumps(slider.label)}, 'ArrowRight')"
        wait(lambda: bool(tab.value(press)), "the slider")
        wait(lambda: slider.value > before, "the slider to act")
        assert page.incoming.refused == 0

        tab.call("Page.navigate", url=f"http://127.0.0.1:{hostile.server_port}/")
        attempts = (("refused", "open"), ("read", "unread"))

        def log() -> set[str]:
            return set(tab.value("window.log || []") or [])

        wait(lambda: all(log() & set(ends) for ends in attempts), "the attack")
        entries = log()
        assert "refused" in entries and "unread" in entries
        assert not entries & {"open", "message", "read"}
    finally:
        tab.close()
        hostile.shutdown()
        hostile.server_close()


@pytest.mark.browser
def test_no_page_without_its_token(page: PageServer, tmp_path: Path) -> None:
    """The bare address says what to do, and shows nothing else."""
    tab = Tab(page.url.partition("?")[0], tmp_path / "profile", (480, 360))
    try:
        wait(lambda: "with its token" in tab.text(), "the refusal")
        assert not page.viser.get_clients()
    finally:
        tab.close()


@pytest.mark.browser
def test_a_name_that_leads_here(page: PageServer, tmp_path: Path) -> None:
    """A foreign name with this machine's address is refused, even with the token."""
    url = page.url.replace("127.0.0.1", "evil.example")
    lead = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    tab = Tab(url, tmp_path / "profile", (480, 360), (lead,))
    try:
        wait(lambda: "another name" in tab.text(), "the refusal")
        assert not page.viser.get_clients()
    finally:
        tab.close()
