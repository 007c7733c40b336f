"""A model provider for strands-cli that runs a GGUF file in the process of the run, with llama.cpp."""

__version__ = "0.1.0"
