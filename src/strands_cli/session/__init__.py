"""One session of a run: from what is planned to the record that is closed."""
