"""Tests of widgets/."""
