"""The other files of the format: policy files, recordings and skills."""
