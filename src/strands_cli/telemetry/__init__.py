"""The spans of a run, opened around it and its steps, redacted and exported."""
