"""Tools of distributions that declare none: what a person adopted, in `strands-adopted.json`."""
