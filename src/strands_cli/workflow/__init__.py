"""From text to a valid `WorkflowSpec`, with line and column of each node."""
