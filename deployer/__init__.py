"""One command turns a YAML stack spec into a healthy llama.cpp endpoint; one command takes it away."""

__version__ = "0.1.0"
