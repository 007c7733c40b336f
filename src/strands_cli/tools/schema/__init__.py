"""JSON Schemas: values against them, and the form in which a provider accepts them."""
