"""Tools of distributions that declare none, adopted by a person in `strands-adopted.json`."""
