"""The search for libraries of probes."""

from __future__ import annotations

from btpy.lang.link.libraries import PACKAGED, Libraries, Library, LibraryError, NoLibrary, is_name
