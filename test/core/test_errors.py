# SPDX-License-Identifier: Apache-2.0
"""Messages: text of files in them is short."""

from __future__ import annotations

from pathlib import Path

import pytest

import humans_sim as hs
from humans_sim.core.errors import LONGEST_MESSAGE
from humans_sim.core.yaml_file import read_yaml

LONG = "k" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG}: 1",
        f"a: {LONG}",
        f"a: {{{LONG}: {LONG}}}",
        f"a: *{LONG}",
        f"a: &{LONG} 1\n{LONG}: 2",
        f"? {LONG}\n: {LONG}",
    ],
)
def test_long_keys_and_values(tmp_path: Path, text: str) -> None:
    """Both ends of a key are there, the file and the line still begin the message."""
    path = tmp_path / "file.yaml"
    path.write_text(text + "\n")
    with pytest.raises(hs.errors.ModelFileError) as caught:
        read_yaml(path).fields((), ("a",))["a"].number()
    message = str(caught.value)
    assert message.startswith(f"{path}:") and len(message) < len(str(path)) + 300


def test_any_message() -> None:
    """No error of the package is longer, whatever it quotes."""
    for error in (hs.errors.ParameterError(LONG), hs.errors.FileWriteError(LONG, LONG)):
        assert len(str(error)) <= LONGEST_MESSAGE
    short = "r_knee: " + 200 * "x"
    assert str(hs.errors.FileError(short, "a.yaml", 3)) == f"a.yaml:3: {short}"
