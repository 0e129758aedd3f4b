"""Fleets: hosts with attributes, studies of many hosts, and what they show."""
