"""Agents in files of their own: checks, single runs, and tests."""
