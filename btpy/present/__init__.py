"""What is shown of a run, and how often: once for the command line, the prompt and replay."""
