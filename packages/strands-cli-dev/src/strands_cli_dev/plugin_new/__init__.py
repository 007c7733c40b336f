"""New plugins and packages of workflows, from templates."""
