"""Models: the SDK's object for each provider; each request is journaled, retried, or played from a recording."""
