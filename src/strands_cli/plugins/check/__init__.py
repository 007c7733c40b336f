"""What authors of plugins make: a new project, its manifest, and the checks of both."""
