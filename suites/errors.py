"""User-facing errors: what happened and what to do next."""


class BenchwrightError(Exception):
    """Base class of all errors shown to the user.

    `remedy` is what to do next, in one sentence; it may be empty.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    @property
    def cancelled(self) -> bool:
        """Whether the user cancelled the work: shown as information, not as an error."""
        return False

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class ParameterError(BenchwrightError):
    """A parameter's value is unknown, of the wrong type or out of bounds.

    `fault` is the message without the `name` of the parameter, which is empty if there is no one parameter.
    """

    def __init__(self, fault: str, remedy: str = "", name: str = "") -> None:
        super().__init__(f"{name}: {fault}" if name else fault, remedy)
        self.fault = fault
        self.name = name


class UnitError(BenchwrightError):
    """A unit is unknown, or two units have different dimensions."""


class UnknownSuiteError(BenchwrightError):
    """No suite has this id."""
