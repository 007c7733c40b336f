"""The command `explain`: workflows, findings, policy."""
