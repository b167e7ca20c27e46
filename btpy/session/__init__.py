"""One attached target. Start reading at :mod:`btpy.session.session`."""
