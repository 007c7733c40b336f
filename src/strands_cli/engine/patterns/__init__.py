"""How each pattern runs: one coroutine function per file, and a table of them by name."""
