"""Which findings keep a step from being started: those after which it could not measure anything, or must not try."""

BLOCKING = frozenset(
    {
        "tool-missing",
        "no-space",
        "directory-not-writable",
        "device-unusable",
        "device-in-use",
        "command-writes-device",
        "command-empty",
        "command-unreadable",
        "command-no-figure",
        "database-not-named",
        "oltp-needs-sysbench-1",
    }
)
"""Findings that mean, as errors, that a step cannot run at all."""
