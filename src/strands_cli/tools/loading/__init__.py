"""From planned tools to Python objects that can be called."""
