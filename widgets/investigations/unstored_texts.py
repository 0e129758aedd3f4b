"""Texts of investigations that were typed and are not stored yet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.investigation import ChangedElsewhereError
from suites.errors import BenchwrightError


@dataclass(frozen=True, slots=True, eq=False)
class UnstoredText:
    """A typed text. `bases` are the texts that it may replace: what was stored, or under way, when the user began.

    `error` is why it was not stored; None while it is being stored.
    """

    title: str
    text: str
    bases: tuple[str, ...]
    error: BenchwrightError | None = None

    @property
    def conflicts(self) -> bool:
        """Whether it was refused because the stored text was changed elsewhere: the user decides."""
        return isinstance(self.error, ChangedElsewhereError)

    def failed(self, error: BenchwrightError) -> "UnstoredText":
        """Return it with the reason why it was not stored."""
        bases = (error.stored,) if isinstance(error, ChangedElsewhereError) else self.bases
        return replace(self, bases=bases, error=error)


def text_of(texts: Sequence[UnstoredText]) -> str:
    """Return texts below each other, each under its title."""
    return "\n\n".join(f"{one.title}:\n{one.text}" for one in texts)
