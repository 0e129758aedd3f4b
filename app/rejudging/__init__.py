"""Stored runs judged again by a later version of the checks, and what that changed."""
