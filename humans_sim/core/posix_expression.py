# SPDX-License-Identifier: Apache-2.0
"""Extended regular expressions (POSIX) that match in polynomial time.

Requests from outside may hold any expression, and Python's own ``re`` can be kept busy
for ever by one of twenty letters. Here an expression maps sets of places in a text to
the places that it can go on from; so the work is bounded by the length of expression
and text. Without back-references and named classes such as ``[[:alpha:]]``.
"""

from __future__ import annotations

from collections.abc import Callable

from humans_sim.core.errors import ParameterError

_LONGEST = 200
"""Letters of an expression."""
_MOST = 255
"""Repetitions that can be asked for."""
_DEEPEST = 8
"""Brackets in brackets: each level may double the work."""
_Places = frozenset[int]
_Matcher = Callable[[str, _Places], _Places]


class PosixExpression:
    """An extended regular expression, of bounded length."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise ParameterError(f"an expression has at most {_LONGEST} letters")
        self._text, self._at, self._depth = text, 0, 0
        self._matcher = self._branches()
        if self._at < len(text):
            raise self._error("')' without '('")

    def found_in(self, text: str) -> bool:
        """Whether a part of a text matches."""
        return bool(self._matcher(text, frozenset(range(len(text) + 1))))

    def _error(self, problem: str) -> ParameterError:
        return ParameterError(
            f"{problem} at letter {self._at + 1} of the expression '{self._text}'"
        )

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, what: str) -> str:
        letter = self._next()
        if not letter:
            raise self._error(f"{what} is missing")
        self._at += 1
        return letter

    def _branches(self) -> _Matcher:
        choices = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            choices.append(self._sequence())
        if len(choices) == 1:
            return choices[0]
        return lambda text, at: frozenset().union(*(c(text, at) for c in choices))

    def _sequence(self) -> _Matcher:
        parts: list[_Matcher] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))

        def match(text: str, at: _Places) -> _Places:
            for part in parts:
                at = part(text, at)
            return at

        return match

    def _repeated(self, atom: _Matcher) -> _Matcher:
        counts = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        letter = self._next()
        if letter not in ("*", "+", "?", "{"):
            return atom
        self._at += 1
        low, high = counts[letter] if letter in counts else self._bounds()
        return _repetition(atom, low, high)

    def _bounds(self) -> tuple[int, int | None]:
        """Counts in braces, from after the opening one."""
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at : max(end, self._at)].partition(",")
        if end < 0 or not low.isdecimal() or not (high or "0").isdecimal():
            raise self._error("numbers in {} are missing")
        first, last = int(low), int(high) if high else None
        if max(first, last or 0) > _MOST or (last is not None and last < first):
            raise self._error(f"{{}} counts up to {_MOST}, the lower number first")
        self._at = end + 1
        return first, last if comma else first

    def _atom(self) -> _Matcher:
        letter = self._take("a letter")
        if letter == "(":
            self._depth += 1
            if self._depth > _DEEPEST:
                raise self._error(f"more than {_DEEPEST} brackets in brackets")
            inside = self._branches()
            self._take("')'")
            self._depth -= 1
            return inside
        if letter == "[":
            return self._class()
        if letter == "^":
            return lambda text, at: at & {0}
        if letter == "$":
            return lambda text, at: at & {len(text)}
        if letter == ".":
            return _one_of(lambda _: True)
        if letter in "*+?{":
            raise self._error(f"nothing to repeat before '{letter}'")
        if letter == "\\":
            letter = self._take("a letter after '\\'")
        return _one_of(lambda other: other == letter)

    def _class(self) -> _Matcher:
        """Letters in brackets, from after the opening one."""
        inside = self._next() != "^"
        self._at += not inside
        ranges: list[tuple[str, str]] = []
        while not (self._next() == "]" and ranges):
            first = last = self._take("']'")
            if self._next() == "-" and self._text[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                last = self._take("']'")
            if last < first:
                raise self._error(f"'{first}-{last}' runs backwards")
            ranges.append((first, last))
        self._at += 1
        return _one_of(lambda x: any(a <= x <= b for a, b in ranges) == inside)


def _one_of(fits: Callable[[str], bool]) -> _Matcher:
    def match(text: str, at: _Places) -> _Places:
        return frozenset(k + 1 for k in at if k < len(text) and fits(text[k]))

    return match


def _repetition(atom: _Matcher, low: int, high: int | None) -> _Matcher:
    def match(text: str, at: _Places) -> _Places:
        for _ in range(low):
            before, at = at, atom(text, at)
            if at == before:  # it moves forwards alone: nothing will change any more
                break
        reached, edge = at, at
        # No place is new after as many rounds as there are places.
        rounds = len(text) + 1 if high is None else high - low
        for _ in range(rounds):
            edge = atom(text, edge) - reached
            if not edge:
                break
            reached |= edge
        return reached

    return match
