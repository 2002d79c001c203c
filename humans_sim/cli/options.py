# SPDX-License-Identifier: Apache-2.0
"""Options of ``humans-sim``: what is allowed, checked before the work; completion.

Light: a shell asks for names to complete while a person types.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import check_output_file, check_output_folder
from humans_sim.core.resources import resource_names
from humans_sim.core.settings import settings_of

Command = Callable[..., None]
Check = Callable[[typer.CallbackParam, Any], Any]


Method = StrEnum("Method", "EVENT_DRIVEN TIME_STEPPING")
"""How contacts are treated in time."""
WristMethod = StrEnum("WristMethod", "COMPLEMENTARITY PENALTY QUASISTATIC")
"""By which the bones of a wrist move."""
Integrator = StrEnum("Integrator", "AUTOMATIC DOP853 RADAU ROSENBROCK CVODE")
"""Integrator of smooth motion."""
Drive = StrEnum("Drive", "TORQUE SERVO")
"""The drive of a walk's joints."""
Feedback = StrEnum("Feedback", "TRUE_STATE OBSERVER")
"""The feedback of a controller."""


def number(
    above: float = -math.inf, least: float = -math.inf, most: float = math.inf
) -> Check:
    """A check of an option: a finite number within limits."""
    limits = [
        f"{word} {limit:g}"
        for word, limit in (("above", above), ("at least", least), ("at most", most))
        if math.isfinite(limit)
    ]
    expected = " ".join(["a finite number", " and ".join(limits)]).strip()

    def check(param: typer.CallbackParam, value: Any) -> Any:
        if value is None:
            return None
        if not (math.isfinite(value) and above < value and least <= value <= most):
            raise ParameterError(f"{_name(param)} must be {expected}, not {value:g}")
        return value

    return check


def numbers_of_option(name: str, text: str) -> tuple[float, ...]:
    """The numbers of an option that has some, with commas between them.

    Raises:
        ParameterError: one is no finite number.
    """
    try:
        numbers = tuple(float(word) for word in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ParameterError(f"{name} takes numbers with commas, not '{text[:40]}'")
    return numbers


def checked_option(text: str, check: Check) -> Any:
    """An option whose value is checked before the work."""
    return typer.Option(help=text, callback=check)


def flag(name: str, text: str) -> Any:
    """An option without a value, its name as it is typed."""
    return typer.Option(name, help=text)


def output_option(text: str, *suffixes: str) -> Any:
    """The option ``--output``, a file that can be written."""
    return typer.Option("--output", "-o", help=text, callback=output_file(*suffixes))


def picture_option(text: str) -> Any:
    """An option that names the file of a picture."""
    pictures = (".png", ".svg", ".pdf")
    return checked_option(f"{text}: .png, .svg or .pdf.", output_file(*pictures))


positive = number(above=0.0)
Seconds = Annotated[
    float | None, checked_option("End after so long; default: Ctrl-C.", positive)
]
"""How long a program runs [s]."""
port_number = number(least=0, most=65535)
Height = Annotated[
    float | None, checked_option("Stature of a human in metres.", positive)
]
Mass = Annotated[float | None, checked_option("Body mass in kilograms.", positive)]
Overwrite = Annotated[bool, flag("--overwrite", "Over a file that is there.")]
RunFile = Annotated[Path, typer.Argument(help="A run file, .npz.")]
PageTitle = Annotated[str, typer.Option(help="Heading of the page.")]
PagePort = Annotated[int, checked_option("First port to try; 0: any.", port_number)]
PageHost = Annotated[
    str, typer.Option(help="Address to listen on; the default is this machine only.")
]
Workers = Annotated[
    int | None,
    checked_option("Processes; default: one a core; 0: this one.", number(least=0)),
]
Cluster = Annotated[
    str | None, typer.Option(help="Address of a dask scheduler, instead.")
]
Again = Annotated[bool, flag("--again", "Do again what is done.")]
Example = Annotated[bool, flag("--example", "The synthetic recording of the package.")]


SCENES = (".glb", ".x3d", ".wrl")
"""Endings of files with scenes for other programs."""
ANIMATIONS = (".html", ".gif", ".png", *SCENES)
"""Endings of files that show how something moved, as ``hs.animate`` writes them."""


def output_file(*suffixes: str) -> Check:
    """A check of an option: a file that can be written."""

    def check(param: typer.CallbackParam, value: Path | None) -> Path | None:
        if value is not None:
            with _naming_option(param):
                check_output_file(value, suffixes)
        return value

    return check


def output_folder(param: typer.CallbackParam, value: Path | None) -> Path | None:
    """A check of an option: a folder of results that can be written to, or made."""
    if value is not None:
        with _naming_option(param):
            check_output_folder(value)
    return value


class _naming_option:  # noqa: N801
    """Errors name the option."""

    def __init__(self, param: typer.CallbackParam) -> None:
        self._name = _name(param)

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, ParameterError):
            raise ParameterError(f"{self._name}: {error}") from None


def _name(param: typer.CallbackParam) -> str:
    return str(param.opts[0]) if param.opts else str(param.name)


def named(folder: str) -> Callable[[str], list[str]]:
    """Completes names of the package's files of one kind."""

    def complete(incomplete: str) -> list[str]:
        return resource_names(folder, incomplete)

    return complete


model_names = named("models")
scenario_names = named("scenarios")
graph_names = named("graphs")
robot_names = named("kondo")
_SCENARIO = "Name of a scenario, or a scenario file of your own."
ScenarioName = Annotated[
    str, typer.Argument(help=_SCENARIO, autocompletion=scenario_names)
]


def marker_set_names(incomplete: str) -> list[str]:
    """Completes marker sets; the model's own tags are one of them."""
    names = ["canonical"] if "canonical".startswith(incomplete) else []
    return names + named("marker_sets")(incomplete)


def convention_names(incomplete: str) -> list[str]:
    """Completes conventions of angles; the model's own joints are one of them."""
    found = ["humans"] if "humans".startswith(incomplete) else []
    return found + named("conventions")(incomplete)


def motion_names(incomplete: str) -> list[str]:
    """Completes motions of the KHR-1."""
    return resource_names("motions", incomplete, ".csv")


_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_COMPLETED = {"marker_set": marker_set_names, "convention": convention_names}


def options_of(kind: type, *names: str) -> Callable[[Command], Command]:
    """Give a command options for these settings of a dataclass.

    They stand where the command has its argument ``options``, which holds them all.
    """

    def replaced(command: Command) -> Command:
        @functools.wraps(command)
        def call(**arguments: Any) -> None:
            fields: dict[str, Any] = {}
            for name in names:
                value = arguments.pop(name)
                fields[name] = value.value if isinstance(value, StrEnum) else value
            if "formats" in fields:
                formats = (word.strip() for word in fields["formats"].split(","))
                fields["formats"] = tuple(word for word in formats if word)
            command(options=kind(**fields), **arguments)

        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.name == "options":
                parameters += (_field_parameter(kind, name) for name in names)
            else:
                parameters.append(parameter.replace(kind=_BY_NAME))
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in parameters}
        return call

    return replaced


def _field_parameter(settings: type, name: str) -> inspect.Parameter:
    """A setting as an option of a command, by its type, limits and help."""
    field = settings_of(settings)[name]
    make: Any = StrEnum
    kind: Any = get_type_hints(settings)[name]
    default: Any = field.default
    facts = field.metadata
    limits = facts["above"], facts["low"], facts["high"]
    if facts["choices"]:  # a type of some words, which typer lists and completes
        kind = make(name, {word: word for word in facts["choices"]})
        default = default and kind(default)
        kind = kind if default else kind | None
    elif name == "formats":
        kind, default = str, ",".join(default)
    option = typer.Option(
        *filter(None, [facts["flag"]]),
        help=facts["help"],
        callback=number(*limits) if any(map(math.isfinite, limits)) else None,
        autocompletion=_COMPLETED.get(name),
    )
    annotation = Annotated[kind, option]
    return inspect.Parameter(name, _BY_NAME, default=default, annotation=annotation)
