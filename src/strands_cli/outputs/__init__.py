"""The files of a run: artifacts, recordings, notes, traces, and the results of tests as JUnit XML."""
