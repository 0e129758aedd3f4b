"""Library of runs: one SQLite file, committed as events happen, so that a crash loses less than a second of samples.

Import from the modules. A package that imports them itself can fail when two threads import parts of it first.
"""
