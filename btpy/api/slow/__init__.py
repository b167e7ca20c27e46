"""``btpy slow``: the slowest requests of a service, as trees of what they spent their time on.

:mod:`~btpy.api.slow.collect` runs the scripts of ``parts`` in a session and keeps what the slowest requests did;
:mod:`~btpy.api.slow.tree` makes a tree of it, without a JVM.
"""
