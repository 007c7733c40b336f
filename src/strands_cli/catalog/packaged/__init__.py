"""Workflows, agents and skills that installed distributions bring as files; no package is imported."""
