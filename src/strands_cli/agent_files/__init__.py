"""Agents in files of their own: checks, plans of single runs, and what is wrong with an answer to a test."""
