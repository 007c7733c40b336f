"""Plugins for authors and operators: scaffold, check, install."""
