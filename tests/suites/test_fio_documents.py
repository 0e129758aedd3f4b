"""fio's output taken apart into documents and lines of text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.fio import documents as fio_documents
from suites.fio.documents import Document, DocumentReader, Piece, Refused, TextLine

TWO = b'note: capped\n{\n  "a" : 1\n}\n{\n  "a" : 2\n}\nfio: done\n'


def read(data: bytes) -> list[Piece]:
    reader = DocumentReader()
    return [*reader.feed(data), *reader.finish()]


def test_documents_and_text_follow_each_other() -> None:
    assert read(TWO) == [TextLine("note: capped"), Document({"a": 1}), Document({"a": 2}), TextLine("fio: done")]


def test_a_document_is_read_as_soon_as_it_ends() -> None:
    reader = DocumentReader()
    assert reader.feed(b'{\n  "a" : 1\n}') == []
    assert reader.feed(b"\n") == [Document({"a": 1})]


def test_text_that_falls_into_a_document_is_taken_out() -> None:
    shown = b'{\n  "a" : 1,\nfio: terminating on signal 15\n  "b" : 2\n}\n'
    assert read(shown) == [TextLine("fio: terminating on signal 15"), Document({"a": 1, "b": 2})]


def test_windows_line_ends_and_a_byte_order_mark_make_no_difference() -> None:
    assert read(b'\xef\xbb\xbf{\r\n  "a" : 1\r\n}\r\n') == [Document({"a": 1})]


def test_a_document_on_one_line_is_read() -> None:
    assert read(b'{"a": 1}\n{"a": 2}') == [Document({"a": 1}), Document({"a": 2})]


def test_a_document_that_another_interrupts_is_refused() -> None:
    assert read(b'{\n  "a" : 1,\n{\n  "a" : 2\n}\n') == [Refused("it is truncated"), Document({"a": 2})]


def test_an_unfinished_document_is_seen() -> None:
    reader = DocumentReader()
    reader.feed(b'{\n  "a" : 1,\n')
    assert reader.finish() == []
    assert reader.within_document


def test_what_is_longer_than_any_document_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fio_documents, "MAXIMUM_DOCUMENT", 1000)
    long_line = b"{\n" + b" " * 2000 + b"\n}\n"
    many_lines = b"{\n" + b'  "a" : 1,\n' * 200 + b"}\n"
    assert read(long_line)[0] == Refused("a line of it is longer than 1000 bytes")
    assert read(many_lines)[0] == Refused("it is longer than 1000 bytes")
    assert read(many_lines + b'{\n  "a" : 3\n}\n')[-1] == Document({"a": 3})


@given(st.lists(st.binary(max_size=40), max_size=20), st.sampled_from([TWO, b"{\n{\n}\n", b"{\r\n}", b"a\rb\n"]))
def test_pieces_do_not_depend_on_how_the_bytes_arrive(noise: list[bytes], reported: bytes) -> None:
    chunks = [chunk for pair in zip(noise, [reported] * len(noise), strict=True) for chunk in pair]
    reader = DocumentReader()
    found = [piece for chunk in chunks for piece in reader.feed(chunk)]
    assert [*found, *reader.finish()] == read(b"".join(chunks))
