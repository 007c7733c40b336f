"""Write the minutes of a meeting from notes; the workflow and the skill are data in `workflows`."""

__version__ = "0.1.0"
