"""The local page: runs, questions, tools and workflows in a browser, on this machine only."""
