"""Runs that begin in one process and are worked on in another one, here or on another machine."""
