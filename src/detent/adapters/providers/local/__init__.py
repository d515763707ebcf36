"""A small language model that runs in this process: its weights, its codec, its generator."""
