"""The files of an installed distribution: records, modules and their packages."""
