"""MCP servers: started once per run, called, and always stopped."""
