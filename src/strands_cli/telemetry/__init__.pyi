from strands_cli.telemetry.measures import UNMEASURED as UNMEASURED
from strands_cli.telemetry.measures import Measures as Measures
from strands_cli.telemetry.measures import QueueNumbers as QueueNumbers
from strands_cli.telemetry.measuring import measured_worker as measured_worker
from strands_cli.telemetry.run_spans import provider_here as provider_here
from strands_cli.telemetry.tracing import tracing_of as tracing_of
