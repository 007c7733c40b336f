"""What a plan reads and sends: secrets, hosts, telemetry, and text from outside that reaches tools."""
