"""From what a plan names to tools that can be called: the only importer of plugins, and every form they have."""
