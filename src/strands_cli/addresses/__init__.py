"""Addresses: whether a named one certainly is public, and the addresses at which a connection to it may end."""
