"""What a person does to an installation: install and verify plugins, and look whether everything is in order."""
