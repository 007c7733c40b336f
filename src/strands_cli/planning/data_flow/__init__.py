"""The inputs and destinations of a plan: secrets, hosts, telemetry, and text from outside that reaches tools."""
