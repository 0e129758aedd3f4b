"""What a run changed on its host is told by the facts that read otherwise after it."""

from dataclasses import replace

from app.hosts.facts_rows import ComparedFact
from suites.facts import Absent, CpuFacts, Facts, MemoryFacts, SystemFacts, Tool
from widgets.library.facts_panel import changes

BEFORE = Facts(
    host="web-1",
    read_at="2026-01-12T08:15:02+00:00",
    system=SystemFacts(kernel="6.1.0", load_1_minute=0.1, uptime=100.0),
    cpu=CpuFacts(threads=8),
    memory=MemoryFacts(total=16 * 2**30, available=12 * 2**30),
)


def test_facts_that_read_the_same_are_not_told() -> None:
    assert changes(BEFORE, replace(BEFORE, read_at="2026-01-12T09:00:00+00:00")) == []


def test_what_reads_otherwise_is_told_with_both_values_and_its_whole_title() -> None:
    after = replace(
        BEFORE,
        system=replace(BEFORE.system, load_1_minute=1.9, uptime=200.0),
        memory=replace(BEFORE.memory, available=Absent("cannot be read")),
    )
    assert changes(BEFORE, after) == [
        ComparedFact("System · Load, 1 minute", ("0.1", "1.9"), differs=True),
        ComparedFact("Memory · Available", ("12 GiB", "absent (cannot be read)"), differs=True),
    ]


def test_what_was_there_only_once_is_told() -> None:
    after = replace(BEFORE, tools=(Tool(name="fio", version="3.33"),))
    found = changes(BEFORE, after)
    assert [change.values for change in found] == [("missing", "3.33")]
