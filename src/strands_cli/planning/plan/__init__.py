"""The plan: its agents, steps and tools, as frozen values."""
