"""Checks of a plugin project and its manifest; a plugin is imported only in a child process."""
