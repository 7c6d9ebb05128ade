"""The catalogue's data files, read through importlib.resources."""
