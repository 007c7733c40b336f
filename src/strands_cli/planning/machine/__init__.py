"""This machine: the installed distributions, and the hooks, policy files, rules and lock in force."""
