"""What the core checks of this machine for `strands doctor`: dependencies, providers, tools, policy, lock, store."""
