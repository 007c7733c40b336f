"""The commands about installed tools: list, show and run them, import servers."""
