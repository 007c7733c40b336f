"""Who published a distribution: attestations (PEP 740) of files and of indexes, verified without a network."""
