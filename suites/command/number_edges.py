"""Whether the text of a pattern's group is a whole number, or a part of one: ``567.8`` of ``1,234,567.8``."""

import re

_SEPARATORS = "'’_\u00a0\u2009\u202f"
"""Separators of thousands that are nothing else between two digits; comma, point and colon depend on the text."""

_SEPARATED_BEFORE = re.compile(rf"(?<![^\W\d_])(\d*)([.,:{_SEPARATORS}])$")
_SEPARATED_AFTER = re.compile(rf"[.,:{_SEPARATORS}]\d")
_EXPONENT_BEFORE = re.compile(r"(?<![^\W\d_])\d\.?[eEdD][+-]?$|10(?:\^|\*\*)[+-]?$")
_EXPONENT_AFTER = re.compile(r"[eEdD][+-]?\d|\s?[x×*·⋅]\s?10(?:\^|\*\*|[⁻⁰¹²³⁴-⁹])")
_SIGN_BEFORE = re.compile(r"(?:^|[^\w)\]}−-])[−-]$")
_LIST = re.compile(r"\d+(?:,\d+){2,}")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_SUFFIX = re.compile(r"(?:[^\W\d_]|[%‰°])[^\s\d,;:)\]}]{0,23}")
_WHOLE = re.compile(
    rf"[−+-]?(?:0[xX][0-9a-fA-F]*|[\d.,:{_SEPARATORS}⁰¹²³⁴-⁹½¼¾]+(?:[eEdD][+-]?\d*|\s?[x×*·⋅]\s?10\S{{1,6}})?)"
)

_NEAR = 64
"""Characters around a number that decide whether it is whole: a line may be long."""


def whole_number(line: str, start: int, end: int) -> str:
    """Return the number of which `line` from `start` to `end` is a part; empty if that is the whole number."""
    first = max(0, start - _NEAR)
    line, start, end = line[first : end + _NEAR], start - first, end - first
    before, after = line[:start], line[end:]
    if not (_continues_before(before, line, start) or _continues_after(line[start:end], after, line, end)):
        return ""
    whole = next((found[0] for found in _WHOLE.finditer(line) if found.start() < end and found.end() > start), "")
    return whole.rstrip(".,:") or line[max(0, start - 1) : end + 1]


def suffix_after(line: str, end: int) -> str:
    """Return the letters that follow directly on the number that ends at `end`: ``k``, ``ms``, ``MB/s``."""
    found = _SUFFIX.match(line[: end + _NEAR], end)
    return "" if found is None else found[0].rstrip(".")


def _continues_before(before: str, line: str, start: int) -> bool:
    if before[-1:].isdigit() or _EXPONENT_BEFORE.search(before) or _SIGN_BEFORE.search(before):
        return True
    if before[-2:].lower() == "0x" and not before[-3:-2].isalnum():
        return True
    found = _SEPARATED_BEFORE.search(before)
    if found is None or not line[start : start + 1].isdigit():
        return False
    digits, separator = found.groups()
    if not digits:  # “.5”, but neither “rate.5” nor “a,5” nor “rate:5”
        return separator == "." and not before[-2:-1].isalnum()
    return separator != "," or not _is_list(line, start)


def _continues_after(text: str, after: str, line: str, end: int) -> bool:
    if after[:1].isnumeric() or _EXPONENT_AFTER.match(after):
        return True
    if text == "0" and re.match(r"[xX][0-9a-fA-F]", after):
        return True
    return _SEPARATED_AFTER.match(after) is not None and (after[0] != "," or not _is_list(line, end))


def _is_list(line: str, at: int) -> bool:
    """Return whether the comma at `at` separates the fields of a list: three or more that are no thousands."""
    found = next((one for one in re.finditer(r"[^\s;|=:]*", line) if one.start() <= at <= one.end()), None)
    text = "" if found is None else found[0]
    if re.search(r"(?:^|,)[^,]*[^\d.,\s+−-][^,]*,|,[^,]*[^\d.,\s+−-][^,]*$", text):  # a field that is no number
        return True
    return _LIST.fullmatch(text) is not None and _THOUSANDS.fullmatch(text) is None
