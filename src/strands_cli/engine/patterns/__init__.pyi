from strands_cli.engine.patterns.pattern_functions import PATTERNS as PATTERNS
