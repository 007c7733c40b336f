"""The commands that run a workflow or continue a run, and their surroundings."""
