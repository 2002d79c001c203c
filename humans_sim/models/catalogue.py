# SPDX-License-Identifier: Apache-2.0
"""``load_model``: the models of the package, tables of the user, and any URDF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ParameterError, UnknownModelError
from humans_sim.core.expressions import shortened
from humans_sim.core.files import is_file
from humans_sim.core.yaml_file import YamlValue
from humans_sim.models.description import TABLES
from humans_sim.models.files.named_models import NAMES, model_file, table_parts
from humans_sim.models.model import Model

MANUAL_NAMES = {"Human36": "human36", "Bip": "bip", "Kondo": "khr1"}
"""Models as HuMAnS' manual calls them."""


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
        name: ``"human36"``, ``"bip"``, ``"khr1"``, ``"human"``, one of HuMAnS' names
            (:data:`MANUAL_NAMES`), or the path of a table
            (``.yaml``: a tree of bodies or Denavit-Hartenberg rows), of a URDF or of an
            MJCF file; a YAML file of the same name beside it gives contact points,
            soles, tags and limits.
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

    Examples:
        >>> import humans_sim as hs
        >>> person = hs.load_model("human36", height=1.80, mass=75.0)
        >>> person.name, len(person.joint_names), round(person.mass, 3)
        ('human36', 36, 75.0)
    """
    text = MANUAL_NAMES.get(str(name), str(name))
    path = model_file(text) if text in NAMES else Path(name)
    if path.suffix.lower() in TABLES:
        parts = table_parts(
            path, height=height, mass=mass, lengths=lengths, tags=tags, rotors=rotors
        )
        return Model(parts)
    if path.suffix.lower() in (".urdf", ".xml", ".xacro") or is_file(path):
        for word, value in (
            ("height", height),
            ("mass", mass),
            ("lengths", lengths),
            ("tags", tags),
        ):
            if value is not None:
                raise ParameterError(
                    f"'{word}' is for models of tables; edit {path} instead"
                )
        from humans_sim.models.files.urdf_file import urdf_parts

        parts = urdf_parts(path, rotors=rotors, xacro=xacro)
        model = Model(parts)
        if parts.grounded:
            return model
        from humans_sim.models.collision_shapes import put_on_its_shapes

        return put_on_its_shapes(model)
    raise UnknownModelError(
        f"no model is called '{name}': use one of {', '.join(NAMES)} or the path of a "
        "URDF file or a table (.yaml)"
    )


def model_name_in(value: YamlValue) -> str:
    """A model that a file names: of :data:`NAMES`, or a path; never a xacro."""
    name = value.text()
    if "\0" in name or Path(name).suffix.lower() == ".xacro":
        raise value.error(
            f"a file cannot name the model '{shortened(name)}': expand it to a URDF "
            "first"
        )
    return name
