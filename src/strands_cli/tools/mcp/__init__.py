"""MCP servers: started once for a run, called, and always stopped."""
