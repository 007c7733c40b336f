"""A tool call: permission check, order, execution, result."""
