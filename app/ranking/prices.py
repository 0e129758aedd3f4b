"""What an hour of a host costs, as the user says: typed in, or from a table. Nothing is looked up anywhere."""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from remote.local_file import read_bounded
from suites.errors import BenchwrightError

MAXIMUM_SIZE = 1024 * 1024
MOST_ROWS = 10_000
LONGEST_NAME = 200

_PRICE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(?: ?([^\s\d]{1,12}))?")


class PriceError(BenchwrightError):
    """A price cannot be read, or prices cannot be put side by side."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one hour. `currency` is a text, and may be empty."""

    amount: float
    currency: str = ""

    @property
    def text(self) -> str:
        """The price in words: ``0.34 USD an hour``."""
        return f"{self.amount:g}{f' {self.currency}' if self.currency else ''} an hour"


Prices = Mapping[str, Price]
"""Prices by host, or by instance type."""


def parse_price(text: str) -> Price:
    """Return the price written ``0.34`` or ``0.34 USD``; raise PriceError for anything else, and for nothing paid."""
    found = _PRICE.fullmatch(text.strip())
    if found is None or not float(found[1]) or not text.isprintable():
        raise PriceError(f"“{text[:40]}” is no price.", "Write 0.34 or 0.34 USD, for one hour.")
    return Price(float(found[1]), found[2] or "")


def parse_pairs(pairs: Iterable[str]) -> dict[str, Price]:
    """Return the prices written ``HOST=PRICE``."""
    found = {}
    for pair in pairs:
        name, mark, price = pair.rpartition("=")
        if not mark or not name.strip():
            raise PriceError(f"“{pair[:60]}” is no HOST=PRICE.", "Write web-1=0.34, for example.")
        found[name.strip()] = parse_price(price)
    return found


def read_prices(path: Path) -> dict[str, Price]:
    """Return the prices in a CSV file whose head has host or instance_type, price, and perhaps currency.

    Raises PriceError naming the file and what is wrong in it.
    """
    try:
        content = read_bounded(path, MAXIMUM_SIZE)
    except OSError as error:
        raise PriceError(f"{path} cannot be read: {error.strerror}.", "Check the name and its permissions.") from error
    if len(content) > MAXIMUM_SIZE:
        raise PriceError(f"{path} is larger than 1 MiB; a table of prices is shorter.")
    try:
        return parse_table(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PriceError(f"{path} is not a text file.", "Prices are a CSV file in UTF-8.") from error
    except PriceError as error:
        raise PriceError(f"{path}: {error.message}", error.remedy) from error


def parse_table(text: str) -> dict[str, Price]:
    """Return the prices in the text of a CSV file."""
    found: dict[str, Price] = {}
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        head = [column.strip().lower() for column in reader.fieldnames or ()]
        reader.fieldnames = head
        if "price" not in head or not {"host", "instance_type"} & set(head):
            raise PriceError("the head lacks price, and host or instance_type.", "Write host,price,currency above.")
        for number, row in enumerate(reader, 2):
            name = (row.get("host") or row.get("instance_type") or "").strip()
            if not name or len(name) > LONGEST_NAME or not name.isprintable() or number > MOST_ROWS:
                raise PriceError(f"line {number} names no host, or there are too many lines.")
            found[name] = parse_price(f"{row.get('price') or ''} {row.get('currency') or ''}")
    except csv.Error as error:
        raise PriceError(f"not valid CSV: {error}.") from error
    return found


def one_currency(prices: Iterable[Price]) -> str:
    """Return the currency of all prices; raise PriceError where there are several."""
    found = list(dict.fromkeys(price.currency for price in prices))
    if len(found) > 1:
        raise PriceError(f"Prices in {' and '.join(one or 'no currency' for one in found)} have no order.")
    return found[0] if found else ""
