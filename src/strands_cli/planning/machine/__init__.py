"""This machine: what is installed, and which hooks, policy files, rules and lock hold."""
