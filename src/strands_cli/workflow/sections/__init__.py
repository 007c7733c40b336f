"""Models of the sections of a workflow: budgets, inputs, environment, outputs, security."""
