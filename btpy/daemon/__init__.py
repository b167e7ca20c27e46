"""Standing probes: scripts of a directory that are in every JVM that their rule names, as long as the daemon runs."""
