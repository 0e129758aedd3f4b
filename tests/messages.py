"""The sentences that tests expect, kept apart from them: one file a page, so that wording is reviewed in one place."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "data/messages"


def messages(page: str, module: str) -> Mapping[str, str]:
    """Return the sentences that the tests of `module` expect, by the name of their test, out of PAGE.toml."""
    return dict(_page(page)[module])


@cache
def _page(name: str) -> Mapping[str, Mapping[str, str]]:
    with (FOLDER / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)
