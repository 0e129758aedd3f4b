"""What a host is called on the screen."""

from app.plans.plan import LOCAL, host_words

__all__ = ["host_title", "host_words", "place_words"]


def host_title(name: str) -> str:
    """Return the name under which a host is shown, as a title."""
    return "This computer" if name == LOCAL else name


def place_words(step: str | None, host: str | None) -> str:
    """Return where a finding belongs: ``fio · i-0ab1``."""
    return " · ".join(part for part in (step, host_words(host) if host else None) if part)
