"""Showing a run: the same for the command line, the prompt and replay."""
