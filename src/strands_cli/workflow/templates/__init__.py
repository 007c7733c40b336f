"""Templates and conditions: checked, rendered in a sandbox, and searched for the names they read."""
