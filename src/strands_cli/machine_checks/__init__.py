"""The core's checks of this machine for `strands doctor`: dependencies, providers, tools, policy, lock, store."""
