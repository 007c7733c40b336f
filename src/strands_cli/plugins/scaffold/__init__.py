"""New plugins, workflows and agent files, from templates."""
