"""What each tool name of a workflow resolves to."""
