# SPDX-License-Identifier: Apache-2.0
"""The page on which a person is adjusted to a recording, in a real browser."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tab import Tab, wait

import humans_sim as hs
from humans_sim.applications.adjustment import Adjustment
from humans_sim.applications.example_recordings import example_file
from humans_sim.observation.markers import read_markers
from humans_sim.view.browser.adjust_page import (
    NO_TAG,
    AdjustPage,
    LatestCalls,
    residual_table,
    seen_markers,
)


def tall_person() -> Adjustment:
    """The recording of the package with a person who is too tall."""
    person = hs.load_model("human36", height=1.80)
    return Adjustment.of_set(read_markers(example_file()), person, "canonical")


def shown_rms(tab: Tab) -> float:
    """What the page says of the frame [mm]; NaN before it says anything."""
    value = re.search(r"rms\s+([\d.]+) mm", tab.text())
    return float(value[1]) if value else float("nan")


def test_only_the_newest_call_counts() -> None:
    """What is overtaken while another call runs is left out; errors are given on."""
    made: list[int] = []
    raised: list[Exception] = []
    begun, resumed = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        resumed.wait(60.0)

    calls = LatestCalls(raised.append)
    calls.ask("slow", slow)
    begun.wait(60.0)
    for k in range(5):
        calls.ask("slider", lambda k=k: made.append(k))
    calls.ask("wrong", lambda: 1 // 0)
    resumed.set()
    assert calls.settle(60.0)
    calls.stop()
    assert made == [4]
    assert isinstance(raised[0], ZeroDivisionError)


def test_markers_of_a_frame_are_drawn_by_kind() -> None:
    """Used, left aside and hidden ones; all are unknown where no posture is found."""
    adjustment = tall_person()
    adjustment.assign("vertex", None)
    seen = seen_markers(adjustment, adjustment.residuals)
    assert len(seen.unknown) == 1
    assert len(seen.measured) + len(seen.rejected) + len(seen.occluded) == 27
    assert seen.rms < 0.03
    text = residual_table(adjustment.residuals)
    assert text.count("<tr") == 29 and NO_TAG in text
    for label in adjustment.recording.names:
        adjustment.assign(label, None)
    seen = seen_markers(adjustment, adjustment.residuals)
    assert not len(seen.measured) and len(seen.unknown) >= 26


def lengths_are_open(tab: Tab) -> bool:
    """Whether the lengths are seen; their tab is clicked until then.

    The page is laid out while it loads: a click may come to where the tab was.
    """
    if "r_ytibia" not in tab.text():
        tab.switch_to("Lengths")
        time.sleep(0.5)
    return "r_ytibia" in tab.text()


@pytest.mark.study
def test_a_person_is_calibrated_and_saved_in_a_browser(tmp_path: Path) -> None:
    """The residual falls, the body is drawn anew, and files are written."""
    adjustment, folder = tall_person(), tmp_path / "adjusted"
    page = AdjustPage(adjustment, folder, port=0)
    tab = Tab(page.url, tmp_path / "profile", size=(1200, 900))
    try:
        wait(lambda: shown_rms(tab) > 8.0, "the residual of a tall person")
        wait(lambda: lengths_are_open(tab), "the lengths")
        drawn = adjustment.model
        tab.click("Calibrate")
        wait(lambda: shown_rms(tab) < 2.0, "the residual of a measured person")
        tab.click("Save")
        wait(lambda: "written to" in tab.text(), "word of the files")
        assert page.calls.settle(60.0)
        assert page._drawn is adjustment.model is not drawn
        picture = tab.picture()
        blue = np.abs(picture - [31, 90, 200]).max(axis=2) < 40
        assert blue[:, :800].sum() > 100, "no measured markers are seen"
    finally:
        tab.close()
        page.stop()
    assert len(list(folder.iterdir())) == 3
