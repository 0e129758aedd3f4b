"""Tests of remote/."""
