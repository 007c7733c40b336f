from strands_cli.telemetry.run_spans import provider_here as provider_here
from strands_cli.telemetry.tracing import tracing_of as tracing_of
