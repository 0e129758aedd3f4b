"""Values being typed: every text is kept as it was written, whether it is accepted or not. No Qt."""

from collections.abc import Mapping
from enum import StrEnum

from suites.errors import ParameterError
from suites.parameters import Parameter, Tuned, Value


class Source(StrEnum):
    """Where a value came from."""

    DEFAULT = "default"
    TUNED = "tuned"
    YOURS = "yours"


class Form:
    """The texts of some parameters, and what they mean.

    A value nobody has touched follows the tuned one whenever the host's facts say something new.
    """

    def __init__(self, parameters: tuple[Parameter, ...], given: Mapping[str, Value] | None = None) -> None:
        """Start from the tool's defaults, or from the values `given` by somebody, which count as touched."""
        self.parameters = parameters
        self.tuned: Mapping[str, Tuned] = {}
        self._texts = {known.name: known.format(known.default) for known in parameters}
        self._touched: set[str] = set()
        for name, value in (given or {}).items():
            self.use(name, value)

    def parameter(self, name: str) -> Parameter:
        """Return the parameter `name`."""
        return next(known for known in self.parameters if known.name == name)

    def text(self, name: str) -> str:
        """Return what is written for the parameter `name`."""
        return self._texts[name]

    def set_text(self, name: str, text: str) -> None:
        """Write `text`, accepted or not."""
        self._texts[name] = text
        self._touched.add(name)

    def use(self, name: str, value: Value) -> None:
        """Write `value` as a person would."""
        self.set_text(name, self.parameter(name).format(value))

    def retune(self, tuned: Mapping[str, Tuned]) -> None:
        """Take what the host's facts suggest now; what somebody chose stays."""
        self.tuned = tuned
        for known in self.parameters:
            if known.name not in self._touched:
                self._texts[known.name] = known.format(self.suggested(known.name))

    def use_tuned(self) -> None:
        """Write the tuned value of every parameter, or its default where the host gives no reason to change it."""
        self._touched.clear()
        self.retune(self.tuned)

    def use_defaults(self) -> None:
        """Write the tool's own default of every parameter."""
        for known in self.parameters:
            self.use(known.name, known.default)

    def suggested(self, name: str) -> Value:
        """Return the tuned value, or the default where there is none."""
        return self.tuned[name].value if name in self.tuned else self.parameter(name).default

    def parsed(self, name: str) -> Value | ParameterError:
        """Return the value that is written, or the error that says what would be accepted."""
        try:
            return self.parameter(name).parse(self._texts[name])
        except ParameterError as error:
            return error

    def values(self) -> dict[str, Value]:
        """Return a value for every parameter; the suggested one stands in where the text is not accepted."""
        read = {known.name: self.parsed(known.name) for known in self.parameters}
        return {
            name: self.suggested(name) if isinstance(value, ParameterError) else value for name, value in read.items()
        }

    def applies(self, name: str) -> bool:
        """Return whether the parameter has any effect beside the other values."""
        return self.parameter(name).applies(self.values())

    def problems(self) -> dict[str, ParameterError]:
        """Return what is not accepted, by parameter; a parameter without effect cannot be wrong."""
        found = {known.name: self.parsed(known.name) for known in self.parameters}
        return {
            name: error for name, error in found.items() if isinstance(error, ParameterError) and self.applies(name)
        }

    def source(self, name: str) -> Source:
        """Return where the written value came from."""
        value = self.parsed(name)
        if value == self.parameter(name).default:
            return Source.DEFAULT
        if name in self.tuned and value == self.tuned[name].value:
            return Source.TUNED
        return Source.YOURS
