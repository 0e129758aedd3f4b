"""Tests of app/fleet."""
