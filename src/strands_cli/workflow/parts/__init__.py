"""Parts of a workflow in files of their own: agents, and the targets of `$ref`."""
