"""Which findings keep a step from being started: those after which it could not measure anything, or must not try."""

from suites.vocab import Finding, Level

BLOCKING = frozenset(
    {
        "tool-missing",
        "no-space",
        "directory-not-writable",
        "directory-unsafe",
        "device-unusable",
        "device-in-use",
        "command-writes-device",
        "command-unjudged",
        "job-file-unreadable",
        "job-file-variable",
        "job-file-unjudged",
        "job-file-writes-device",
        "command-empty",
        "command-unreadable",
        "command-no-figure",
        "database-not-named",
        "oltp-needs-sysbench-1",
        "probe-no-compiler",
        "probe-no-compiler-peer",
    }
)
"""Findings that mean, as errors, that a step cannot run at all."""


def blocks(finding: Finding) -> bool:
    """Return whether a step cannot run at all where this was found of it."""
    return finding.level is Level.ERROR and finding.id in BLOCKING
