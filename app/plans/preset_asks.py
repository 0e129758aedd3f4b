"""What a preset asks before it is a plan: typed answers, and the places in its file that take them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.plans.plan import PlanError
from suites.errors import ParameterError
from suites.parameters import Parameter, Type, Value

HOST = "host"
"""The type of an answer that names a host; the others are those of parameters."""

_KEYS = {"name", "title", "type", "unit", "help", "example", "minimum", "maximum", "optional", "without"}
_TYPES = (HOST, Type.INTEGER, Type.NUMBER, Type.SIZE, Type.DURATION, Type.TEXT)

Answers = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Ask:
    """One question that only the user can answer.

    `example` is an answer as a person writes it. `host` tells that it names a host. Where an `optional` one stays open,
    so does what would have taken it, and the steps that need it are left out: `without` says so.
    """

    parameter: Parameter
    example: str
    host: bool = False
    optional: bool = False
    without: str = ""

    @property
    def name(self) -> str:
        """The name of the answer."""
        return self.parameter.name


def ask_of(table: Mapping[str, Any]) -> Ask:
    """Return the question in an [[ask]] table; raise PlanError where it is none."""
    for key in table:
        if key not in _KEYS:
            raise PlanError(f"ask has no “{key}”.", f"It may have {', '.join(sorted(_KEYS))}.")
    kind = table.get("type")
    if kind not in _TYPES:
        raise PlanError(f"ask.type is {kind!r}.", f"Give one of {', '.join(_TYPES)}.")
    host = kind == HOST
    parameter = Parameter(
        name=table["name"],
        title=table["title"],
        type=Type.TEXT if host else Type(kind),
        default="",  # there is none: an answer is given, or it stays open
        help=table["help"],
        unit=table.get("unit", ""),
        minimum=table.get("minimum"),
        maximum=table.get("maximum"),
    )
    return Ask(parameter, table["example"], host, table.get("optional", False), table.get("without", ""))


def read_answers(asks: Sequence[Ask], given: Mapping[str, str]) -> dict[str, Value]:
    """Return what was answered, each by its type; raise PlanError for what is missing, unknown or not accepted."""
    known = {ask.name: ask for ask in asks}
    for name in given:
        if name not in known:
            names = f"It asks for {', '.join(known)}." if known else "It asks for nothing."
            raise PlanError(f"The preset does not ask for “{name[:60]}”.", names)
    texts = {name: text.strip() for name, text in given.items() if text.strip()}
    missing = [ask for ask in asks if not ask.optional and ask.name not in texts]
    if missing:
        titles = ", ".join(ask.parameter.title for ask in missing)
        raise PlanError(
            f"The preset has to know: {titles}.",
            f"Give {' '.join(f'--answer {ask.name}={ask.example}' for ask in missing)}, for example.",
        )
    return {name: _parsed(known[name], text) for name, text in texts.items()}


def _parsed(ask: Ask, text: str) -> Value:
    try:
        return ask.parameter.parse(text)
    except ParameterError as error:
        raise PlanError(error.message, error.remedy) from None


@dataclass(frozen=True, slots=True)
class _Open:
    """What stands where an answer was left open."""


_OPEN = _Open()


def resolved(content: Any, answers: Answers) -> Any:
    """Return `content` of a file with every answer in its place; what an open answer was for is left out.

    A place is written ``{ answer = "iops", times = 1.02 }``: a whole number stays one, rounded up. A text takes
    answers in braces: ``{iops}``.
    """
    if isinstance(content, dict):
        if "answer" in content:
            return _answer(content, answers)
        filled = {key: resolved(value, answers) for key, value in content.items()}
        return {key: value for key, value in filled.items() if value is not _OPEN}
    if isinstance(content, list):
        return [value for each in content if (value := resolved(each, answers)) is not _OPEN]
    return _worded(content, answers) if isinstance(content, str) else content


def _answer(place: Mapping[str, Any], answers: Answers) -> Any:
    value = answers.get(place["answer"], place.get("otherwise", _OPEN))
    times = place.get("times", 1)
    if value is _OPEN or times == 1 or isinstance(value, str | bool):
        return value
    product = round(value * times, 6)  # 4000 x 1.02 is 4080, whatever binary fractions make of it
    return math.ceil(product) if isinstance(value, int) else product


def _worded(text: str, answers: Answers) -> str:
    for name, value in answers.items():
        text = text.replace(f"{{{name}}}", value if isinstance(value, str) else f"{value:,.12g}")
    return text
