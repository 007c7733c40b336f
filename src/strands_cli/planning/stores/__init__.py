"""Where the runs of a person are stored."""
