"""Child processes of the local page: each start, answer or resume is a command line of its own."""
