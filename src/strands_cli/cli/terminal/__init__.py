"""Input and output of the terminal: progress, questions, tables, errors."""
