"""The spans of a run, opened around it and its steps, redacted and exported; and the metrics of a worker."""
