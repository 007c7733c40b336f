"""Tools that a workflow makes of agents, workflows and other tools."""
