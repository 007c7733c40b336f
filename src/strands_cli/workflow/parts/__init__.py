"""Parts of a workflow in files of their own: agents, and what `$ref` names."""
