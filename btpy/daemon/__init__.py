"""Standing probes: while the daemon runs, it keeps the scripts of a directory in the JVMs that their rules name."""
