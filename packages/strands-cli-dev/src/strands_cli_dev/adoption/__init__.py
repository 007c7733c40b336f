"""Adopt tools of distributions that declare none: find, choose, name, write."""
