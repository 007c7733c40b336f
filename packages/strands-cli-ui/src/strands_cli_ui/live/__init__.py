"""Live pages: changes of runs, noticed once for all tabs, as streams of server-sent events."""
