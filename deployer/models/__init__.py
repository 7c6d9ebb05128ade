"""GGUF files wherever they lie: what one is, told by its header, and the way of one into S3."""
