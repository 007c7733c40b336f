"""Plugins for operators: list, install, switch and verify; the source of one; new workflows and agents."""
