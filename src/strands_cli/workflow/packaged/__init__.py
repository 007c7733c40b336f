"""What a workflow may name beside its own folder: files of its project, and packaged workflows, agents and skills."""
