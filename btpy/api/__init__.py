"""What Python programs trace with: :func:`btpy.attach` and what it gives (docs/python.md)."""
