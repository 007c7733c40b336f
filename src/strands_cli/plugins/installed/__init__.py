"""Installed plugins: list them, verify their files, find the workflows that use them."""
