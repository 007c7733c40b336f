"""Models of the steps of a workflow, and of the tools that it names."""
