"""The Python forms of a tool, read after its import and compared with its manifest."""
