"""Tests of the page Fleet."""
