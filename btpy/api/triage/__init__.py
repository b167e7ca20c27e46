"""``btpy triage``: what a service is, what it spends its time on, and its most suspicious facts.

:mod:`~btpy.api.triage.collect` runs the looks in a session and measures; :mod:`~btpy.api.triage.judge` finds the
suspicious facts in the measurements and ranks them, without a JVM.
"""
