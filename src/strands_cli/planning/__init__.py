"""From a workflow, the catalog and policy to a plan, or to every finding at once."""
