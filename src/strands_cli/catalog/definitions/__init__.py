"""Manifests of tools, and the differences between two definitions."""
