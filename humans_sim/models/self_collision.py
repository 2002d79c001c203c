# SPDX-License-Identifier: Apache-2.0
"""What a model's file says of links that touch each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue

Pair = tuple[str, str]
KEYS = ("exclude", "include", "friction")


@dataclass(frozen=True)
class SelfCollision:
    """Which links of a model touch each other, and how.

    Attributes:
        enabled: whether any do.
        exclude: pairs that go through each other.
        include: pairs that touch although they are neighbours or overlap in the zero
            position.
        friction: Coulomb's coefficient; None: that of the scene.
    """

    enabled: bool = True
    exclude: tuple[Pair, ...] = ()
    include: tuple[Pair, ...] = ()
    friction: float | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            ParameterError: a coefficient below zero, or a pair in both lists.
        """
        if self.friction is not None and not self.friction >= 0.0:
            raise ParameterError(
                f"friction of links must be 0 or more, not {self.friction}"
            )
        both = {frozenset(p) for p in self.exclude} & {
            frozenset(p) for p in self.include
        }
        if both:
            names = " and ".join(sorted(min(both, key=sorted)))
            raise ParameterError(f"{names} are both included and excluded")

    def with_changes(self, given: bool | Mapping[str, Any]) -> SelfCollision:
        """The same, switched on or off, or with more pairs and another friction.

        Args:
            given: whether links touch; or the keys ``exclude``, ``include`` and
                ``friction``, of which lists of pairs add to those of the model.

        Raises:
            ParameterError: an unknown key, or what is no pair.
        """
        if isinstance(given, bool):
            return replace(self, enabled=given)
        unknown = sorted(set(given) - set(KEYS))
        if unknown:
            raise ParameterError(
                f"self_collision has no key '{unknown[0]}', only {', '.join(KEYS)}"
            )
        exclude, include = (_pairs(given.get(key, ())) for key in KEYS[:2])
        added = {frozenset(pair) for pair in (*exclude, *include)}
        friction = given.get("friction", self.friction)
        return replace(
            self,
            enabled=True,
            exclude=(*_without(self.exclude, added), *exclude),
            include=(*_without(self.include, added), *include),
            friction=None if friction is None else float(friction),
        )

    def plain(self) -> bool | dict[str, Any]:
        """As a file has it."""
        if not self.enabled:
            return False
        given = {
            "exclude": [list(pair) for pair in self.exclude],
            "include": [list(pair) for pair in self.include],
            "friction": self.friction,
        }
        return {key: value for key, value in given.items() if value not in ([], None)}


def read_self_collision(value: YamlValue) -> SelfCollision:
    """What a section of a file says: ``true``, ``false`` or its keys.

    Raises:
        ModelFileError: something else stands there.
    """
    if not value.is_mapping():
        return SelfCollision(enabled=value.choice(("true", "false")) == "true")
    given = value.fields((), KEYS)
    pairs = {
        key: [tuple(name.text() for name in item) for item in given[key]]
        for key in KEYS[:2]
        if key in given
    }
    friction = {"friction": given["friction"].number()} if "friction" in given else {}
    try:
        return SelfCollision().with_changes({**pairs, **friction})
    except ParameterError as error:
        raise value.error(str(error)) from error


def _without(pairs: Iterable[Pair], left_out: set[frozenset[str]]) -> list[Pair]:
    return [pair for pair in pairs if frozenset(pair) not in left_out]


def _pairs(given: Iterable[Any]) -> tuple[Pair, ...]:
    pairs = []
    for item in given:
        names = () if isinstance(item, str) else tuple(item)
        if len(names) != 2 or names[0] == names[1]:
            raise ParameterError(f"{item!r} is no pair of links: write [one, other]")
        pairs.append((str(names[0]), str(names[1])))
    return tuple(pairs)
