"""Sizes and times as fio reads them."""

import re

_SIZE = re.compile(r"([0-9]{1,15})\s*([kmgtp]?)(ib)?(?:i|b)?", re.IGNORECASE)
_TIME = re.compile(r"([0-9]{1,9})\s*(us|ms|s|m|h|d)?", re.IGNORECASE)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def fio_size(text: str) -> int | None:
    """Return the bytes of a size as fio reads it: k, kB and Ki are 1024 bytes, KiB is 1000; None where it is no size.

    That is no slip of ours: with its default kb_base, fio has the two the other way round (manual, kb_base).
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    power = " kmgtp".index(match[2].lower() or " ")
    base = 1000 if match[3] else 1024
    return int(int(match[1]) * base**power)


def fio_seconds(text: str) -> float | None:
    """Return the seconds of a time as fio reads it; None where it is none."""
    match = _TIME.fullmatch(text.strip())
    return None if match is None else int(match[1]) * _SECONDS[(match[2] or "s").lower()]
