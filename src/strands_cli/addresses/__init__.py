"""Addresses: whether what a workflow names certainly is public, and which addresses a connection to it may end at."""
