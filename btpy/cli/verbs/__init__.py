"""Verbs answer the most common questions: each generates a script, shows it and runs it."""
