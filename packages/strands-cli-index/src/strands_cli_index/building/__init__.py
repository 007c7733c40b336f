"""Building an index: a folder of wheels becomes a folder for a web server, and nothing is imported."""
