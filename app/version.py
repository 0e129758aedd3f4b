"""The program's version."""

from importlib.metadata import version

VERSION = version("benchwright")
