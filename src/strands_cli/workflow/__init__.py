"""Text to a valid `WorkflowSpec`, remembering line and column of every node."""
