"""Recorded manifests need the SDK; :mod:`support.runs` makes them once a session."""

from support.fixtures import sdk

__all__ = ["sdk"]
