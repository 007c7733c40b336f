"""Plans of every workflow and agent file in a folder."""
