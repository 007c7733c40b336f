"""The fields of a tool's definition in files that others write, and how such a file is read and checked."""
