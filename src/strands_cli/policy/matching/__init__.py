"""Match the arguments of a call with globs: texts, paths, addresses, and the resources that tools declare."""
