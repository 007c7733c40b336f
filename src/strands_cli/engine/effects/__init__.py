"""Effects: each is counted, limited, written to the journal, and not repeated."""
