"""The publishers that were verified on this machine, by what is installed."""
