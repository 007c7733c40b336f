"""The YAML files that a person or an operator keeps: policy and settings."""
