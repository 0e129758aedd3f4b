"""Parameters: typed, bounded, with a unit, a default and one sentence of help."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from suites.errors import BenchwrightError, ParameterError
from suites.units import ungrouped

MAXIMUM_TEXT = 64 * 1024
"""Maximum characters of a multi-line text."""

Value = bool | int | float | str
Values = Mapping[str, Value]


class Type(StrEnum):
    """How a parameter's value is written, checked and edited."""

    INTEGER = "integer"
    NUMBER = "number"
    SIZE = "size"  # bytes, written "4 KiB"; KiB/MiB/GiB are powers of 1024, kB/MB/GB of 1000
    DURATION = "duration"  # seconds, written "60 s", "5 min"
    CHOICE = "choice"
    FLAG = "flag"
    TEXT = "text"
    LINES = "lines"  # text of several lines, such as a file's content


NUMERIC = frozenset({Type.INTEGER, Type.NUMBER, Type.SIZE, Type.DURATION})
"""Types of values that may have separators of thousands."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a CHOICE parameter as the tool spells it, with its title."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Tuned:
    """A value fitted to a host, and why."""

    value: Value
    why: str


def _always(_values: Values) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a suite; without a `type`, one of its `choices`.

    `default` is the tool's own default. `option` is its spelling on the tool's command line, shown to the user. Without
    a `title`, the tool's own token is the label: the long option without dashes if there is one, else the name.
    `applies` returns, given all values, whether it has any effect. `identity` is False if it does not change what is
    measured: a directory, an address, a port. Runs that differ only there are comparable.
    """

    name: str
    title: str = ""
    type: Type = Type.CHOICE
    default: Value
    help: str
    unit: str = ""
    option: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Choice, ...] = ()
    pattern: str = ""
    whole: bool = False
    applies: Callable[[Values], bool] = _always
    identity: bool = True

    def __post_init__(self) -> None:
        if not self.title:
            token = re.fullmatch(r"--([\w-]+)", self.option)
            object.__setattr__(self, "title", token[1] if token else self.name)

    def parse(self, given: object) -> Value:
        """Return `given` (a typed value, or text as typed) as this parameter's value.

        Raises ParameterError naming the parameter, the value and what would be accepted.
        """
        if isinstance(given, str) and self.type in NUMERIC:
            try:
                given = ungrouped(given)
            except BenchwrightError as error:
                raise self.refuse(given, error.remedy) from None
        value = _READERS[self.type](self, given)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._check_bounds(value)
        return value

    def format(self, value: Value) -> str:
        """Return `value` as text; ``parse(format(v)) == v``."""
        if self.type is Type.SIZE:
            return format_size(int(value))
        if self.type is Type.DURATION:
            return format_duration(float(value))
        if self.type is Type.FLAG:
            return "yes" if value else "no"
        return f"{value:.12g}" if isinstance(value, float) else str(value)

    def bounds(self) -> str:
        """Return the accepted range as text, or an empty string if unbounded."""
        low = None if self.minimum is None else self.format(self._typed(self.minimum))
        high = None if self.maximum is None else self.format(self._typed(self.maximum))
        if low and high:
            return f"{low} to {high}"
        return f"at least {low}" if low else f"at most {high}" if high else ""

    def _typed(self, number: float) -> Value:
        return int(number) if self.type in {Type.INTEGER, Type.SIZE} else number

    def _check_bounds(self, value: float) -> None:
        too_small = self.minimum is not None and value < self.minimum
        too_large = self.maximum is not None and value > self.maximum
        if too_small or too_large:
            raise self.refuse(self.format(value), f"Give {self.bounds()}.")
        if self.whole and value != int(value):
            raise self.refuse(self.format(value), f"Give a whole number{_of(self)}.")

    def refuse(self, given: object, remedy: str) -> ParameterError:
        """Return the error that rejects `given` as a value of this parameter."""
        shown = str(given) if not isinstance(given, int) or abs(given) <= LARGEST else "a number beyond 10^18"
        shown = shown if len(shown) <= 60 else shown[:57] + "…"
        return ParameterError(f"{shown!r} is not accepted.", remedy, self.name)


flag_parameter = partial(Parameter, type=Type.FLAG, default=False)
text_parameter = partial(Parameter, type=Type.TEXT, default="")
folder_parameter = partial(text_parameter, name="folder", title="Folder", pattern=r"/.*", identity=False)
count_parameter = partial(Parameter, type=Type.INTEGER, minimum=1)
port_parameter = partial(Parameter, name="port", type=Type.INTEGER, minimum=0, maximum=65535, identity=False)
runtime_parameter = partial(Parameter, name="time", type=Type.DURATION, unit="s", minimum=1, maximum=86400, whole=True)

LARGEST = 10**18
"""Largest number of a parameter without bounds of its own."""

_SIZE = re.compile(r"^\s*(\d{1,18}(?:\.\d{1,6})?)\s*([kKmMgGtT]?)(i?)([bB]?)\s*$")
_DURATION = re.compile(
    r"^\s*(\d{1,9}(?:\.\d{1,6})?)\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|ms|[u\u00b5\u03bc]s)?\s*$"
)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EXPONENTS = {"ms": "e-3", "us": "e-6", "\u00b5s": "e-6", "\u03bcs": "e-6"}


def parse_size(text: str) -> int:
    """Return the bytes written as ``4k``, ``4 KiB``, ``1.5 GiB`` or ``1 GB``; raise ValueError otherwise.

    As in fio: a bare letter or KiB is a power of 1024; kB, MB, GB are powers of 1000.
    """
    match = _SIZE.match(text)
    if match is None:
        raise ValueError(text)
    number, prefix, binary, byte = match.groups()
    base = 1000 if byte and prefix and not binary else 1024
    size = float(number) * base ** _POWERS[prefix.lower()]
    if not size.is_integer():
        raise ValueError(text)
    return int(number) * base ** _POWERS[prefix.lower()] if number.isdigit() else int(size)


def parse_sizes(text: Value) -> tuple[int, ...]:
    """Return the sizes of a list such as ``4 KiB, 1 MiB``, each once, in its order."""
    return tuple(dict.fromkeys(parse_size(word) for word in str(text).split(",")))


def sizes_text(text: str) -> str:
    """Return sizes separated by commas, as parse_sizes() reads them, in their largest units."""
    return ", ".join(map(format_size, parse_sizes(text)))


def size_word(size: int, letters: str = "kmg") -> str:
    """Return `size` bytes for a tool whose `letters` are powers of 1024: ``4k``, ``1g``, ``1000``."""
    for power in range(len(letters), 0, -1):
        if size % 1024**power == 0:
            return f"{size // 1024**power}{letters[power - 1]}"
    return str(size)


def format_size(size: int) -> str:
    """Return `size` bytes exactly, in the largest unit that divides it: ``4 KiB``, ``1 GB``, ``4095 B``."""
    for suffix, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size and size % factor == 0:
            return f"{size // factor} {suffix}"
    for suffix, factor in (("GB", 10**9), ("MB", 10**6)):
        if size and size % factor == 0:
            return f"{size // factor} {suffix}"
    return f"{size} B"


def parse_duration(text: str) -> float:
    """Return the seconds written as ``60``, ``60 s``, ``20 µs``, ``5 min`` or ``1 d``; raise ValueError otherwise."""
    match = _DURATION.match(text)
    if match is None:
        raise ValueError(text)
    number, unit = match.groups()
    if unit in _EXPONENTS:
        return float(number + _EXPONENTS[unit])
    return float(number) * _SECONDS[(unit or "s")[0]]


def format_duration(seconds: float) -> str:
    """Return `seconds` exactly: ``20 µs``, ``45 s``, ``5 min``, ``2 h``, ``1 d``."""
    if 0 < seconds < 0.001:
        return f"{seconds * 1e6:.12g} µs"
    for suffix, factor in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds and seconds % factor == 0:
            return f"{seconds / factor:.12g} {suffix}"
    return f"{seconds:.12g} s"


def _read_integer(parameter: Parameter, given: object) -> Value:
    whole = isinstance(given, int) or (isinstance(given, float) and given.is_integer())
    if isinstance(given, int | float) and not isinstance(given, bool) and whole and abs(given) <= LARGEST:
        return int(given)
    if isinstance(given, str) and re.fullmatch(r"\s*-?\d{1,18}\s*", given):
        return int(given)
    raise parameter.refuse(given, f"Give a whole number{_of(parameter)}.")


def _read_number(parameter: Parameter, given: object) -> Value:
    if isinstance(given, str) and re.fullmatch(r"\s*-?\d{1,18}(\.\d{1,9})?\s*", given):
        given = float(given)
    number = given if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    if not abs(number) <= LARGEST:  # also NaN, which passes any comparison with a bound
        raise parameter.refuse(given, f"Give a number{_of(parameter)}.")
    return float(number) + 0.0  # -0.0 becomes 0.0


def _read_size(parameter: Parameter, given: object) -> Value:
    if isinstance(given, str):
        try:
            return parse_size(given)
        except ValueError:
            raise parameter.refuse(given, "Give a size such as “4 KiB” or “8 GiB”.") from None
    return _read_integer(parameter, given)


def _read_duration(parameter: Parameter, given: object) -> Value:
    if isinstance(given, str):
        try:
            return parse_duration(given)
        except ValueError:
            raise parameter.refuse(given, "Give a duration such as “60 s” or “5 min”.") from None
    return _read_number(parameter, given)


def _read_choice(parameter: Parameter, given: object) -> Value:
    accepted = [choice.value for choice in parameter.choices]
    if isinstance(given, str) and given in accepted:
        return given
    raise parameter.refuse(given, f"Give one of {', '.join(accepted)}.")


def _read_flag(parameter: Parameter, given: object) -> Value:
    if isinstance(given, bool):
        return given
    words = {"yes": True, "true": True, "1": True, "on": True, "no": False, "false": False, "0": False, "off": False}
    if isinstance(given, str) and given.strip().lower() in words:
        return words[given.strip().lower()]
    if given in (0, 1):
        return bool(given)
    raise parameter.refuse(given, "Give yes or no.")


def _read_text(parameter: Parameter, given: object) -> Value:
    if not isinstance(given, str):
        raise parameter.refuse(given, "Give text.")
    if any(ord(character) < 32 for character in given) or len(given) > 4096:
        raise parameter.refuse(given, "Give one line without control characters.")
    if given and parameter.pattern and not re.fullmatch(parameter.pattern, given):
        raise parameter.refuse(given, parameter.help)
    return given


def _read_lines(parameter: Parameter, given: object) -> Value:
    if not isinstance(given, str):
        raise parameter.refuse(given, "Give text.")
    text = given.replace("\r\n", "\n")
    if any(ord(character) < 32 and character not in "\n\t" for character in text) or len(text) > MAXIMUM_TEXT:
        raise parameter.refuse(given, f"Give text without control characters, {MAXIMUM_TEXT} characters at most.")
    return text


def _of(parameter: Parameter) -> str:
    unit = f" in {parameter.unit}" if parameter.unit else ""
    return f"{unit}, {parameter.bounds() or 'at most 10^18'}"


_READERS: Mapping[Type, Callable[[Parameter, object], Value]] = {
    Type.INTEGER: _read_integer,
    Type.NUMBER: _read_number,
    Type.SIZE: _read_size,
    Type.DURATION: _read_duration,
    Type.CHOICE: _read_choice,
    Type.FLAG: _read_flag,
    Type.TEXT: _read_text,
    Type.LINES: _read_lines,
}
