"""Scripts as texts in an editor."""

from __future__ import annotations

from btpy.lang.edit.formatter import format_source
from btpy.lang.link.excerpt import excerpt, joined
from btpy.lang.link.excerpt import settled as with_arguments
from btpy.lang.syntax.parser import is_complete, unclosed
from btpy.lang.syntax.scanner import leading_comment
