"""Models: the SDK's object for each provider, every request of it journaled, retried or played from a recording."""
