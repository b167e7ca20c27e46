"""One attached target. Start reading at :mod:`btpy.engine.session`."""
