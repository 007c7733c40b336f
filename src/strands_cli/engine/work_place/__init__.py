"""Where a run was worked on: the machine, the folder, and the worker."""
