"""The garbage collector waits while many records are read, and works again afterwards whatever happened."""

import gc

import pytest

from widgets.jobs import collection_paused


def test_the_collector_waits_until_the_last_reader_is_done() -> None:
    assert gc.isenabled()
    with collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_failure_does_not_leave_it_off() -> None:
    with pytest.raises(ZeroDivisionError), collection_paused():
        raise ZeroDivisionError
    assert gc.isenabled()
