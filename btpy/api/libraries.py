"""The search for libraries of probes."""

from __future__ import annotations

from btpy.lang.link.libraries import PACKAGED, SUFFIX, Libraries, Library, LibraryError, NoLibrary, is_name

__all__ = [
    "PACKAGED",
    "SUFFIX",
    "Libraries",
    "Library",
    "LibraryError",
    "NoLibrary",
    "is_name",
]
