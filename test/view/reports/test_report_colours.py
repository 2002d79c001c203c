# SPDX-License-Identifier: Apache-2.0
"""Reports in a real Chromium: colours of the system, paper, narrow screens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tab import Tab, wait

import humans_sim as hs
from humans_sim.dynamics.problems import bouncing_ball


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The report of a ball that bounces."""
    folder = tmp_path_factory.mktemp("report")
    run = hs.Simulation(bouncing_ball(0.5)).run(np.array([0.2]), t_end=0.4)
    hs.report(run, folder / "ball.html")
    tab = Tab((folder / "ball.html").as_uri(), folder / "profile", (390, 800))
    wait(lambda: "How it was made" in tab.text(), "the report")
    yield tab
    tab.close()


def brightness(page: Tab, scheme: str, medium: str = "screen") -> tuple[float, float]:
    """Of the page and of its words, 0 to 255."""
    wanted = [{"name": "prefers-color-scheme", "value": scheme}]
    page.call("Emulation.setEmulatedMedia", media=medium, features=wanted)
    style = "(k) => getComputedStyle(document.body)[k].match(/\\d+/g).map(Number)"
    back, words = (
        page.value(f"({style})('{k}')") for k in ("backgroundColor", "color")
    )
    return float(np.mean(back[:3])), float(np.mean(words[:3]))


@pytest.mark.parametrize(
    ("scheme", "medium", "dark"),
    [
        ("light", "screen", False),
        ("dark", "screen", True),
        ("dark", "print", False),
        ("light", "print", False),
    ],
)
def test_colours(page: Tab, scheme: str, medium: str, dark: bool) -> None:
    """As the system is on a screen, light on paper; words can be read."""
    back, words = brightness(page, scheme, medium)
    assert (back < 60) == dark and (words > 180) == dark
    assert abs(back - words) > 120


@pytest.mark.study
def test_figures_are_dark_too(page: Tab) -> None:
    """What is seen of a curve's picture is dark in a dark page."""
    seen = {}
    for scheme in ("light", "dark"):
        brightness(page, scheme)
        page.value("document.querySelector('img.figure').scrollIntoView()")
        seen[scheme] = float(np.median(page.picture()))
    assert seen["light"] > 200 and seen["dark"] < 80


def test_narrow_screens(page: Tab) -> None:
    """Nothing makes the page wider than a telephone; tables scroll by themselves."""
    brightness(page, "light")
    widths = page.value("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
