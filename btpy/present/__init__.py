"""Shows a run, in the same way for the command line, the prompt and replay."""
