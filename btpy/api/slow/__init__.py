"""``btpy slow``: the slowest requests of a service, as trees of the work and the waits that they consist of.

:mod:`~btpy.api.slow.collect` runs the scripts of ``parts`` in a session and keeps what the slowest requests did;
:mod:`~btpy.api.slow.reports` reads the events of the scripts;
:mod:`btpy.events.request_tree` makes a tree of it, without a JVM.
"""

from btpy.events.request_tree import REQUEST, TASK, Node, nodes_of, tree_of
from btpy.events.requests import Request
