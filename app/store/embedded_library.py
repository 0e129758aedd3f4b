"""The library file inside an HTML report."""

import base64
import binascii
import re
import zlib
from pathlib import Path

from app.store import errors

HTML = b"<!DOCTYPE html>"
LARGEST_REPORT = 256 * 2**20
LARGEST_LIBRARY = 2**30
"""Bytes of a report and of the library in it that are read: both come from a stranger."""

_LIBRARY = re.compile(rb'id="benchwright-library"[^>]*?href="data:application/gzip;base64,([A-Za-z0-9+/=]*)"')


def is_report(path: Path) -> bool:
    """Return whether a file begins as HTML. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(HTML)).lower() == HTML.lower()


def extract_library(report: Path, folder: Path) -> Path:
    """Write the library inside a report to a new file in `folder`; return its path. Raises StoreError and OSError."""
    with report.open("rb") as file:
        content = file.read(LARGEST_REPORT + 1)
    found = _LIBRARY.search(content)
    if len(content) > LARGEST_REPORT or found is None:
        reason = "it is larger than 256 MiB" if len(content) > LARGEST_REPORT else "it has no library"
        raise errors.StoreError(
            f"No run can be imported from {errors.named(report)}: {reason}.",
            "Choose a report that Benchwright wrote with export --html.",
        )
    decompressor = zlib.decompressobj(wbits=31)
    try:
        library = decompressor.decompress(base64.b64decode(found[1], validate=True), LARGEST_LIBRARY)
    except (binascii.Error, zlib.error) as error:
        raise _damaged(report) from error
    if not decompressor.eof:
        raise _damaged(report)
    target = folder / "report.sqlite3"
    target.write_bytes(library)
    return target


def _damaged(report: Path) -> errors.StoreError:
    return errors.StoreError(
        f"No run can be imported from {errors.named(report)}: the library in it is damaged or larger than 1 GiB.",
        "Ask for the file again.",
    )
