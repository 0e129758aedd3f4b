"""The parent of a step's private directory: writable, of the account alone if possible, and not full."""

from dataclasses import replace

import pytest

from app.plans.context import ON_EVERY_HOST, ROOM, writable_directory
from suites.facts import Absent, Directory
from tests.app.trial_evidence import facts

HOME = Directory(path="/home/ann", writable=True, free=100 * ROOM)


@pytest.mark.parametrize(
    ("directories", "chosen"),
    [
        ((HOME, Directory(path="/srv", writable=True, free=100 * ROOM)), "/home/ann"),
        (
            (Directory(path="/home/ann", writable=True, free=0), Directory(path="/srv", writable=True, free=ROOM)),
            "/srv",
        ),
        ((Directory(path="/full", writable=True, free=0),), "/full"),
        ((Directory(path="/srv", writable=True, free=ROOM, guard="unsafe others root /srv"), HOME), "/home/ann"),
        ((Directory(path="/srv", writable=True, free=Absent("no df")), HOME), "/srv"),
        ((Directory(path="/srv", writable=False, free=100 * ROOM),), ON_EVERY_HOST),
    ],
)
def test_the_first_directory_with_room_is_used(directories: tuple[Directory, ...], chosen: str) -> None:
    assert writable_directory(replace(facts(), directories=directories)) == chosen
