"""Real llama.cpp for rehearsals: the server of the xllamacpp wheel behind llama-server's own command line."""
