"""Errors a person can act on: what happened and what to do next."""


class BenchwrightError(Exception):
    """The base of every error meant to be read by the user.

    `remedy` says what to do next, in one sentence; it may be empty.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class ParameterError(BenchwrightError):
    """A parameter's value is unknown, of the wrong type or out of bounds."""


class UnitError(BenchwrightError):
    """A unit is unknown, or two units measure different things."""


class UnknownSuiteError(BenchwrightError):
    """No suite has this id."""
