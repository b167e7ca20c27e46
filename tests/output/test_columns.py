"""Text cut to the columns of a terminal."""

from __future__ import annotations

import pytest

from btpy.output.columns import columns_of, shortened

STARTER = "org.springframework.boot.web.embedded.tomcat.TomcatWebServer.start:220"
NUMBER = "NumberFormatException, java.lang.NumberFormatException.forInputString:67"
QUERY = "SELECT * FROM orders WHERE customer = ?"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        (STARTER, 80, STARTER),
        (STARTER, 60, "org.…boot.web.embedded.tomcat.TomcatWebServer.start:220"),
        (STARTER, 40, "org.…tomcat.TomcatWebServer.start:220"),
        (STARTER, 27, "…TomcatWebServer.start:220"),
        (STARTER, 11, "….start:220"),
        (NUMBER, 50, "NumberForm…NumberFormatException.forInputString:67"),
        (NUMBER, 36, "…erFormatException.forInputString:67"),
        (QUERY, 20, "SELECT * FROM order…"),
        ("/a/path/to/some/file.txt", 12, "/a/path/to/…"),
        ("", 3, ""),
    ],
)
def test_the_method_and_the_line_stay(text: str, width: int, expected: str) -> None:
    assert shortened(text, width) == expected


@pytest.mark.parametrize("ellipsis", ["…", "..."])
def test_it_always_fits(ellipsis: str) -> None:
    for text in (STARTER, NUMBER, QUERY, "漢字" * 20 + ".x:3", f"\x1b[1m{QUERY}\x1b[0m"):
        for width in range(1, 90):
            assert columns_of(shortened(text, width, ellipsis)) <= width, (text, width)
