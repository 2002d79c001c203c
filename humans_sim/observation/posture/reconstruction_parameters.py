# SPDX-License-Identifier: Apache-2.0
"""``ReconstructionParameters.csv``: the sizes of subjects, one column each.

The manual's file of section 9.6.2, whose figure is lost. The first column names the
rows: ``Subject``, the 31 anatomical lengths ``L1``... and the 84 distances from tags to
joints ``X1, Y1, Z1``..., all in metres on HuMAnS axes. Each further column is a
subject, or a test of one: its number is XX or XXYY...Y. A set that is saved goes into a
new column at the end.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.files import is_file, write_lines
from humans_sim.models.catalogue import load_model
from humans_sim.models.model import Model
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.marker_set import SetMarker
from humans_sim.observation.markers.text_file import read_lines
from humans_sim.observation.posture.subject import Subject

MODEL = "human36"
_SUBJECT = "Subject"
_STATURE = ("l_yfoot", "l_ytibia", "l_yfemur", "yvT10", "yvC7", "yhead")
"""Lengths that are the height of the vertex together."""


def read_reconstruction_parameters(path: Path | str) -> dict[str, Subject]:
    """Read the subjects of a file of parameters, by their numbers.

    Stature is the height of the vertex; mass is the model's usual one, since the file
    has none (:func:`dataclasses.replace` gives another). Markers are the model's tags,
    at the distances of the file.

    Args:
        path: the file.

    Raises:
        MarkerFileError: it is no sound file of parameters.
    """
    path, model = Path(path), load_model(MODEL)
    names, lines = _row_names(model), read_lines(path)
    table = [[field.strip() for field in line.split(",")] for line in lines]
    if len(table) != len(names):
        raise MarkerFileError(
            f"the file has {len(table)} lines, not {len(names)}: {_SUBJECT}, "
            f"{len(model.lengths)} lengths, {3 * len(model.tag_names)} distances",
            path,
        )
    width = len(table[0])
    for line, (name, row) in enumerate(zip(names, table, strict=True), start=1):
        if row[0] != name or len(row) != width or width < 2:
            raise MarkerFileError(
                f"a line of {name} with {width - 1} values is wanted", path, line
            )
    subjects: dict[str, Subject] = {}
    for column in range(1, width):
        number = table[0][column]
        if not number.isdecimal() or number in subjects:
            raise MarkerFileError(
                f"column {column + 1}: '{number[:20]}' is no number of a subject, or "
                "stands twice",
                path,
                1,
            )
        values = np.array(
            [_number(table[k][column], path, k + 1) for k in range(1, len(table))]
        )
        try:
            subjects[number] = _subject(model, number, values)
        except HumansError as error:
            raise MarkerFileError(f"subject {number}: {error}", path) from error
    return subjects


def write_reconstruction_parameters(
    path: Path | str, number: str, person: Subject | Model | None = None
) -> Path:
    """Save the sizes of a person as a new column at the end of a file of parameters.

    Args:
        path: the file; made if it is not there.
        number: of the subject: XX, or XXYY...Y for a test of one.
        person: a subject or a model; None: the model as it is by default.

    Raises:
        ParameterError: the number is none, or stands in the file already.
        MarkerFileError: the file that is there cannot be read.
    """
    path = Path(path)
    model = person if isinstance(person, Model) else load_model(MODEL)
    if isinstance(person, Subject):
        model = person.model()
        places = {m.name: m.at for m in person.markers if m.name in model.tag_names}
        model = model.with_tag_positions(places)
    if model.name != MODEL:
        raise ParameterError(f"parameters are those of {MODEL}, not of {model.name}")
    if not number.isdecimal():
        raise ParameterError(f"'{number}' is no number of a subject, such as 01")
    values = [*model.lengths.values(), *model.tag_positions.ravel().tolist()]
    column = [number, *(repr(float(value)) for value in values)]
    before = _row_names(model)
    if is_file(path):
        if number in read_reconstruction_parameters(path):
            raise ParameterError(f"{path} has a subject {number} already")
        before = read_lines(path)
    pairs = zip(before, column, strict=True)
    write_lines(path, [f"{old},{new}" for old, new in pairs])
    return path


def _row_names(model: Model) -> list[str]:
    points = [f"{a}{k + 1}" for k in range(len(model.tag_names)) for a in "XYZ"]
    return [_SUBJECT, *(f"L{k + 1}" for k in range(len(model.lengths))), *points]


def _subject(model: Model, number: str, values: np.ndarray) -> Subject:
    count = len(model.lengths)
    lengths = dict(zip(model.lengths, map(float, values[:count]), strict=True))
    body = model.with_lengths(lengths)
    places = np.reshape(values[count:], (-1, 3))
    markers = tuple(
        SetMarker(tag.name, tag.link, place)
        for tag, place in zip(body.parts.tags, places, strict=True)
    )
    stature = sum(lengths[name] for name in _STATURE)
    title = f"subject {number}"
    return Subject(MODEL, stature, body.mass, lengths, markers, title)


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or "_" in text or abs(value) > 10.0:
        raise MarkerFileError(f"'{text[:20]}' is no length in metres", path, line)
    return value
