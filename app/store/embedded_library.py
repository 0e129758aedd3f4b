"""The library file inside an HTML report."""

import base64
import binascii
import html
import re
import zlib
from pathlib import Path

from app.output import SQLITE
from app.store import errors

_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<!--[^>]*-->\s*)*<(?:!doctype\s+)?html[\s>]", re.IGNORECASE)
"""The begin of a report; programs that save or send it put a byte order mark, blanks or a comment before."""
BEGIN = 4096
"""Bytes in which a report begins."""
LARGEST_REPORT = 256 * 2**20
LARGEST_LIBRARY = 2**30
"""Bytes of a report and of the library in it that are read: both come from a stranger."""

_ID = b"benchwright-library"
_DATA = re.compile(rb"""href\s*=\s*["']?data:application/gzip;base64,([^"'<>]*)""")


def is_html(path: Path, naming: bytes = b"") -> bool:
    """Return whether a file begins as HTML, with a name in its head. Raises OSError."""
    with path.open("rb") as file:
        begin = file.read(BEGIN)
    return _HTML.match(begin) is not None and naming in begin


def is_report(path: Path) -> bool:
    """Return whether a file begins as a report of Benchwright. Raises OSError."""
    return is_html(path, b"Benchwright")


def extract_library(report: Path, folder: Path) -> Path:
    """Write the library inside a report to a new file in `folder`; return its path. Raises StoreError and OSError."""
    with report.open("rb") as file:
        content = file.read(LARGEST_REPORT + 1)
    found = _DATA.search(_tag(content))
    if len(content) > LARGEST_REPORT or found is None:
        if len(content) > LARGEST_REPORT:
            reason, remedy = "it is larger than 256 MiB", _CHOOSE
        elif b"</html" not in content[-BEGIN:].lower():
            reason, remedy = "its end is missing", "Ask for the file again."
        else:
            reason, remedy = "it has no library", _CHOOSE
        raise errors.StoreError(f"No run can be imported from {errors.named(report)}: {reason}.", remedy)
    packed = b"".join(html.unescape(found[1].decode("latin-1")).encode("utf-8").split())  # as other programs wrap it
    decompressor = zlib.decompressobj(wbits=31)
    try:
        library = decompressor.decompress(base64.b64decode(packed, validate=True), LARGEST_LIBRARY)
    except (binascii.Error, zlib.error) as error:
        raise _damaged(report) from error
    if not decompressor.eof or not library.startswith(SQLITE):
        raise _damaged(report)
    target = folder / "report.sqlite3"
    target.write_bytes(library)
    return target


_CHOOSE = "Choose a report that Benchwright wrote with export --html."


def _tag(content: bytes) -> bytes:
    """Return the link that has the library, the last of its name, whatever the order of its attributes."""
    at = content.rfind(_ID)
    end = content.find(b">", at)
    return content[content.rfind(b"<", 0, at) : end] if at >= 0 and end >= 0 else b""


def _damaged(report: Path) -> errors.StoreError:
    return errors.StoreError(
        f"No run can be imported from {errors.named(report)}: the library in it is damaged or larger than 1 GiB.",
        "Ask for the file again.",
    )
