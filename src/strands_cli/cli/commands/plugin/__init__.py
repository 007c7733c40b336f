"""The commands under `plugin`."""
