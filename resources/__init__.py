"""Data read at run time: scripts for hosts, icons, style, help pages."""

from importlib.resources import files


def read_text(name: str) -> str:
    """Return the text of the resource `name` (a path below this folder, such as ``"facts.sh"``)."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def read_bytes(name: str) -> bytes:
    """Return the bytes of the resource `name`."""
    return files(__name__).joinpath(name).read_bytes()
