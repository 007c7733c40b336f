"""Messages to people about runs that wait, end or fail: a command, or a signed webhook."""
