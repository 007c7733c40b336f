"""Indexes: where they are, reading their files, and the release that a name means."""
