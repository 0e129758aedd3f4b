"""What a host is called on the screen."""

from app.plan import LOCAL

THIS_COMPUTER = "This computer"


def host_title(name: str) -> str:
    """Return the name under which a host is shown, as a title."""
    return THIS_COMPUTER if name == LOCAL else name


def place_words(step: str | None, host: str | None) -> str:
    """Return where a finding belongs: ``fio · i-0ab1``."""
    return " · ".join(part for part in (step, host_title(host) if host else None) if part)
