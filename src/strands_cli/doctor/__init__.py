"""Checks of this installation: Python, the SDK, providers, tools, policy, and what the system can enforce."""
