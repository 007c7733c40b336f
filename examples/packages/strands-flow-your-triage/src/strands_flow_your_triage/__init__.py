"""Sort a customer's message and draft an answer; the workflow and the agent are data in `workflows`."""

__version__ = "0.1.0"
