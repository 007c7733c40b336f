"""Installed distributions: their entry points, headers and requirements, without imports."""
