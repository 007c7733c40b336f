"""Messages of the SDK: their contents, and their JSON in the journal."""
