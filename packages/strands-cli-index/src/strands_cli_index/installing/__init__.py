"""Installing: a distribution is fetched, shown, and installed by its hash."""
