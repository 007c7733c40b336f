"""From each tool name of a workflow to a planned tool."""
