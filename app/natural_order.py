"""Natural order of texts: the numbers in them count as numbers, so that web-2 comes before web-10."""

import re

_NUMBER = re.compile(r"([0-9]{1,18})")


def natural_key(text: str) -> tuple[str | int, ...]:
    """Return the sort key of a text: alternately its case-folded letters and its numbers."""
    return tuple(int(part) if at % 2 else part for at, part in enumerate(_NUMBER.split(text.casefold())))
