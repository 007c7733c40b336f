"""Plugin indexes: where they are, reading them, and the release that a name means."""
