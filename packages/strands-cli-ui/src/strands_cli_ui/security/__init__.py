"""Who may see the local page: one-time tokens, sessions, and the checks that every request passes."""
