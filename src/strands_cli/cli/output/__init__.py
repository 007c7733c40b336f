"""Results on stdout, everything else on stderr, and the exit code of an error."""
