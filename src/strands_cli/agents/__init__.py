"""Strands agents: models, conversations, structured output, and replay of recordings."""
