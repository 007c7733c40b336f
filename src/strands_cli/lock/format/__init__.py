"""The lock file: its values, its reader and its writer."""
