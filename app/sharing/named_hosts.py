"""Hosts, users and serial numbers that a text names as such: in options of programs, variables and output."""

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

_FROM = re.compile(
    r"^Last login: [^\n]{0,100}? from (?P<login>[\w.-]*\w)"
    r"|\bfrom (?P<host>\w[\w-]{0,62}(?:\.[\w-]{1,63}){1,8}\.[a-z]{2,24})\b",
    re.MULTILINE,
)
"""Where a login or a reply came from, by its full name."""

_USER = re.compile(
    rf"\b(?:{_OF_OPTION_H})\s(?:[^\n|;&]{{0,300}}?\s)?(?:-[uU]{_BLANK}*|--user(?:name)?[= ]{_BLANK}*)"
    r"[\"']?(?P<user>\w[\w.-]{0,62})"
)
_SERIAL = re.compile(
    r"\bserial(?:[ _-]?(?:no\.?|number))?\s{0,9}[:=#]\s{0,9}[\"']?(?P<serial>\w[\w-]{3,62})", re.IGNORECASE
)


def hosts_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield where names of hosts stand in `text`."""
    yield from (found.span("host") for found in _NAMED.finditer(text))


def names_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the full names of hosts, the users of database programs, and the serial numbers in `text`, with kinds."""
    for found in _FROM.finditer(text):
        yield "host", found["login"] or found["host"]
    for pattern, kind in ((_USER, "user"), (_SERIAL, "serial")):
        for found in pattern.finditer(text):
            yield kind, found[kind]
