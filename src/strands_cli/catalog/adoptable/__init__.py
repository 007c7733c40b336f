"""Tools of installed distributions that declare none, found without an import: what a person can adopt."""
