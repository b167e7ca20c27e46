"""Verbs: the questions that are asked most, each a script that is written for the user, shown and run."""
