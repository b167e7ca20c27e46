"""The Python API: :func:`btpy.attach` and its results (docs/python.md)."""
