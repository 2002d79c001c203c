# SPDX-License-Identifier: Apache-2.0
"""Analogue channels of C3D files: scaled as the format says, in every number format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c3d_bytes import c3d_bytes

from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers import AnalogChannels, MarkerTrial

Read = Callable[[bytes], MarkerTrial]


def channel_bytes(raw: np.ndarray, extra: dict[str, Any], **options: Any) -> bytes:
    """A file of two markers and stored analogue numbers (n, samples, channels)."""
    number = raw.shape[2]
    named = {
        "ANALOG:USED": number,
        "ANALOG:LABELS": [f"C{k + 1}" for k in range(number)],
        "ANALOG:UNITS": ["V"] * number,
        "ANALOG:SCALE": np.ones(number),
        "ANALOG:OFFSET": np.zeros(number, int),
        "ANALOG:GEN_SCALE": 1.0,
    }
    positions = np.full((len(raw), 2, 3), 100.0)
    return c3d_bytes(positions, analog=raw, extra=named | extra, **options)


@pytest.mark.parametrize("processor", ["intel", "dec", "mips"])
@pytest.mark.parametrize("scale", [-0.1, 0.1])
def test_scales(
    scale: float, processor: str, rng: np.random.Generator, read_c3d: Read
) -> None:
    """(number - OFFSET) x SCALE x GEN_SCALE of integers and reals of each kind."""
    raw = rng.integers(-2000, 2000, (5, 4, 3)).astype(float)
    scales, offsets = np.array([0.5, -2.0, 0.01]), np.array([0, 2047, -30])
    extra = {
        "ANALOG:SCALE": scales,
        "ANALOG:OFFSET": offsets,
        "ANALOG:GEN_SCALE": 0.25,
        "ANALOG:RATE": 400.0,
        "ANALOG:LABELS": ["Fx", "Fy", "EMG"],
        "ANALOG:UNITS": ["N", "N", "mV"],
    }
    trial = read_c3d(channel_bytes(raw, extra, processor=processor, scale=scale))
    analog = trial.analog
    assert analog is not None and not trial.notes
    assert analog.names == ("Fx", "Fy", "EMG") and analog.units == ("N", "N", "mV")
    assert analog.rate == pytest.approx(400.0)
    expected = (raw.reshape(20, 3) - offsets) * scales * 0.25
    np.testing.assert_allclose(analog.values, expected, rtol=1e-6)
    np.testing.assert_allclose(analog.times, np.arange(20) / 400)
    np.testing.assert_allclose(analog["EMG"], expected[:, 2], rtol=1e-6)


def test_unsigned(read_c3d: Read) -> None:
    """With FORMAT UNSIGNED, integers of 16 bits and their offsets have no sign."""
    raw = np.array([[[-32768.0, 5.0]], [[-1.0, 40000.0 - 65536.0]]])
    extra = {
        "ANALOG:FORMAT": "UNSIGNED",
        "ANALOG:OFFSET": np.array([-32768, 5]),
    }
    analog = read_c3d(channel_bytes(raw, extra, scale=0.1)).analog
    assert analog is not None
    np.testing.assert_allclose(analog.values, [[0, 0], [32767, 39995]])


def test_unsigned_though_nothing_says_so(read_c3d: Read) -> None:
    """Reals that are never negative, with offsets far below, have no sign."""
    raw = np.array([[[32770.0, 5.0]], [[32768.0, 7.0]]])
    extra = {"ANALOG:OFFSET": np.array([-32768, 0])}
    analog = read_c3d(channel_bytes(raw, extra)).analog
    assert analog is not None
    np.testing.assert_allclose(analog.values, [[2, 5], [0, 7]])
    analog = read_c3d(channel_bytes(-raw, extra)).analog
    assert analog is not None
    np.testing.assert_allclose(analog.values, [[-2, -5], [0, -7]])


def test_more_than_255_channels(rng: np.random.Generator, read_c3d: Read) -> None:
    """Labels and scales go on in LABELS2 and SCALE2."""
    raw = rng.normal(size=(2, 1, 300)).round(3)
    labels, scales = [f"C{k}" for k in range(300)], np.arange(1.0, 301.0)
    extra: dict[str, Any] = {}
    for name, values in (("LABELS", labels), ("SCALE", scales)):
        extra[f"ANALOG:{name}"] = values[:255]
        extra[f"ANALOG:{name}2"] = values[255:]
    extra["ANALOG:UNITS"], extra["ANALOG:OFFSET"] = ["V"], np.zeros(255, int)
    extra["ANALOG:OFFSET2"] = np.zeros(45, int)
    analog = read_c3d(channel_bytes(raw, extra)).analog
    assert analog is not None and analog.names == tuple(labels)
    np.testing.assert_allclose(analog.values, raw[:, 0] * scales, rtol=1e-5)


def test_notes(read_c3d: Read) -> None:
    """Labels that stand twice, missing scales, another rate and NaN are noted."""
    raw = np.ones((3, 1, 2))
    raw[1, 0, 1] = np.nan
    extra = {
        "ANALOG:LABELS": ["EMG", "EMG"],
        "ANALOG:SCALE": np.array([2.0]),
        "ANALOG:RATE": 90.0,
    }
    trial = read_c3d(channel_bytes(raw, extra))
    analog = trial.analog
    assert analog is not None and analog.names == ("EMG", "EMG_2")
    np.testing.assert_allclose(analog.values, [[2, 1], [2, np.nan], [2, 1]])
    for words in ("'EMG'", "1 numbers for 2 channels", "90 Hz", "1 analogue values"):
        assert any(words in note for note in trial.notes), words


def test_select() -> None:
    """Channels are chosen by name; one that is not there is named."""
    channels = AnalogChannels(("a", "b"), ("V", "N"), 100.0, np.eye(2), start=1.0)
    assert channels.select(["b"]).units == ("N",)
    np.testing.assert_allclose(channels.times, [1.0, 1.01])
    with pytest.raises(ParameterError, match="no channel is called 'c'"):
        channels["c"]
    with pytest.raises(ParameterError, match="shape"):
        AnalogChannels(("a",), ("V",), 100.0, np.eye(2))
