"""Tests of suites/."""
