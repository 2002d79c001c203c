# SPDX-License-Identifier: Apache-2.0
"""The models that come with the package, by name, and ``load_model``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from humans_sim.errors import ParameterError, UnknownModelError
from humans_sim.files import is_file
from humans_sim.models.builder import build
from humans_sim.models.expressions import shortened
from humans_sim.models.model import Model
from humans_sim.models.parts import ModelParts
from humans_sim.models.tree_file import TreeFile
from humans_sim.models.urdf_writer import write_urdf
from humans_sim.models.yaml_file import YamlValue
from humans_sim.resources import resource

NAMES = ("human36", "bip", "khr1")
"""Models that come with the package."""


def load_model(
    name: str | Path,
    *,
    height: float | None = None,
    mass: float | None = None,
    lengths: Mapping[str, float] | np.ndarray | None = None,
    tags: Mapping[str, np.ndarray] | np.ndarray | None = None,
    rotors: bool = True,
    xacro: bool = True,
) -> Model:
    """Load a model.

    Args:
        name: ``"human36"``, ``"bip"``, ``"khr1"``, or the path of a URDF; a YAML file
            of the same name beside the URDF gives contact points, soles, tags and
            limits.
        height: stature of a human model [m].
        mass: body mass [kg].
        lengths: named lengths to replace, or all of them in the file's order [m].
        tags: tag positions to replace, by name or all of them, in their segments'
            frames on HuMAnS axes [m].
        rotors: False leaves drive rotors (Bip) out of the dynamics.
        xacro: whether a ``.xacro`` file is expanded; False where the name did not come
            from the user but from a file or a message.

    Raises:
        UnknownModelError: no such model and no such file.
        ParameterError: a parameter is out of range or unknown to the model.
        ModelFileError: a model file is malformed.
    """
    text = str(name)
    if text in NAMES:
        return load_named(
            text, height=height, mass=mass, lengths=lengths, tags=tags, rotors=rotors
        )
    path = Path(name)
    if path.suffix.lower() in (".urdf", ".xml", ".xacro") or is_file(path):
        for word, value in (
            ("height", height),
            ("mass", mass),
            ("lengths", lengths),
            ("tags", tags),
        ):
            if value is not None:
                raise ParameterError(
                    f"'{word}' is for the package's own models; edit {path} instead"
                )
        from humans_sim.models.urdf_file import load_urdf

        return load_urdf(path, rotors=rotors, xacro=xacro)
    raise UnknownModelError(
        f"no model is called '{name}': use one of {', '.join(NAMES)} or the path of a "
        "URDF file"
    )


def model_name_in(value: YamlValue) -> str:
    """A model that a file names: one of :data:`NAMES`, or the path of a URDF.

    Raises:
        ModelFileError: it is a ``.xacro`` file; these are the user's alone to name.
    """
    name = value.text()
    if "\0" in name or Path(name).suffix.lower() == ".xacro":
        raise value.error(
            f"a file cannot name the model '{shortened(name)}': expand it to a URDF "
            "first"
        )
    return name


def model_file(name: str) -> Path:
    """YAML file of a model that comes with the package."""
    return resource("config", "models", f"{name}.yaml")


def load_named(
    name: str,
    *,
    height: float | None = None,
    mass: float | None = None,
    lengths: Mapping[str, float] | np.ndarray | None = None,
    tags: Mapping[str, np.ndarray] | np.ndarray | None = None,
    rotors: bool = True,
) -> Model:
    """Load one of :data:`NAMES`; the arguments are those of :func:`load_model`."""
    parameters: dict[str, float] = {}
    for key, word, value in (("h", "height", height), ("m", "mass", mass)):
        if value is not None:
            parameters[key] = _positive(word, value)
    path = model_file(name)
    default = TreeFile(path)
    for key, word in (("h", "height"), ("m", "mass")):
        if key in parameters and key not in default.parameters:
            raise ParameterError(f"the {word} of {name} cannot be set")
    given = named_lengths(default.lengths, lengths, name)
    file = TreeFile(path, parameters, given)
    tag_names = [entry.mapping()["name"].text() for entry in file.sections["tags"]]
    given_tags = named_tags(tuple(tag_names), tags, name)
    description = file.describe(given_tags)
    pin_model = build(description)
    drive = None
    if rotors and "rotors" in file.sections:
        from humans_sim.models.rotors import read_rotors

        index = {n: 6 + i for i, n in enumerate(pin_model.names[2:])}
        drive = read_rotors(file.sections["rotors"], description.humans.joints, index)
    return Model(
        ModelParts(
            name=name,
            title=description.title,
            pin_model=pin_model,
            tags=description.tags,
            contacts=description.contacts,
            soles=description.soles,
            humans=description.humans,
            urdf=write_urdf(description),
            rotors=drive,
            parameters=file.parameters,
            lengths=file.lengths,
            given_lengths=given,
            given_tags=given_tags,
            source=path,
        )
    )


def named_lengths(
    known: Mapping[str, float],
    given: Mapping[str, float] | np.ndarray | None,
    model: str,
) -> dict[str, float]:
    """Lengths by name, checked; a vector is taken in the order of ``known``."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        values = np.asarray(given, dtype=float).ravel()
        if len(values) != len(known):
            raise ParameterError(f"{model} has {len(known)} lengths, not {len(values)}")
        given = dict(zip(known, values.tolist(), strict=True))
    found = {}
    for name, value in given.items():
        if name not in known:
            raise ParameterError(
                f"{model} has no length '{name}' (it has: {', '.join(known) or 'none'})"
            )
        found[name] = _positive(f"length '{name}'", value)
    return found


def named_tags(
    known: tuple[str, ...],
    given: Mapping[str, np.ndarray] | np.ndarray | None,
    model: str,
) -> dict[str, np.ndarray]:
    """Tag positions by name, checked; an array is taken in the order of ``known``."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        values = np.asarray(given, dtype=float)
        if values.size != 3 * len(known):
            raise ParameterError(
                f"{model} has {len(known)} tags: {3 * len(known)} numbers are wanted, "
                f"not {values.size}"
            )
        given = dict(zip(known, values.reshape(-1, 3), strict=True))
    found = {}
    for name, position in given.items():
        if name not in known:
            raise ParameterError(f"{model} has no tag '{name}'")
        point = np.asarray(position, dtype=float)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise ParameterError(
                f"the position of '{name}' is not three finite numbers"
            )
        found[name] = point
    return found


def _positive(word: str, value: float) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ParameterError(f"{word} must be a finite number above zero, not {value}")
    return number
