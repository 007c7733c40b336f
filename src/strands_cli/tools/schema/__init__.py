"""JSON Schemas: validation of values, and references written out."""
