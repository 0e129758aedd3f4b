"""Hosts that a text names as such: in connection strings, variables and options of programs."""

import re
from collections.abc import Iterator

_BLANK = r"[^\S\n]"
_OF_OPTION_H = r"pgbench|psql|pg_\w+|createdb|dropdb|(?:redis|valkey)-[\w-]+|(?:mysql|mariadb)\w*"
_NAMED = re.compile(
    r"(?:(?<![\w.-])(?:--?[\w-]{0,40})?(?:pg)?host(?:addr|name)?"
    rf"(?:\s?=\s?|(?<=-host){_BLANK}+|(?<=-hostname){_BLANK}+)"
    rf"|\b(?:{_OF_OPTION_H})\s(?:[^\n|;&]{{0,300}}?\s)?-h{_BLANK}*"
    rf"|\biperf3?\s(?:[^\n|;&]{{0,300}}?\s)?-c{_BLANK}*)"
    r"[\"']?(?P<host>\w[\w.-]{0,252})(?<![.-])",
    re.IGNORECASE,
)


def hosts_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield where names of hosts stand in `text`."""
    yield from (found.span("host") for found in _NAMED.finditer(text))
