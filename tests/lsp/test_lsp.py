"""``btpy lsp`` with the requests of an editor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from btpy.lsp.positions import Positions
from tests.cli.test_command import btpy
from tests.live.scripts import counted, waited
from tests.lsp.editor import applied, editor

WRONG = '// 𝕏\nCounted::step @entry { @n = coun(); print("𝕏", durration) }\n'
RIGHT = "param least: int = 3;\nCounted::step @return when $number >= least { @by[$number % 2] = hist(duration); }\n"


def test_errors_are_shown_explained_and_fixed(tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    with editor() as at:
        diagnostics = at.open(path, WRONG)
        assert [(diagnostic["code"], diagnostic["severity"], diagnostic["source"]) for diagnostic in diagnostics] == [
            ("BT101", 1, "btpy")
        ] * 2
        assert diagnostics[0]["range"] == {"start": {"line": 1, "character": 28}, "end": {"line": 1, "character": 32}}
        start = WRONG.splitlines()[1].index("durration") + 1  # 𝕏 is two units of UTF-16
        assert diagnostics[1]["range"]["start"] == {"line": 1, "character": start}
        assert "help: did you mean `count`?" in diagnostics[0]["message"]
        assert diagnostics[0]["data"]["spans"][0]["label"] == "not defined"
        explained = at.at("hover", path, 1, 29)["contents"]["value"]
        assert explained.startswith("**BT101: ")
        range_ = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
        document = {"uri": path.as_uri()}
        actions = at.ask(
            "textDocument/codeAction", textDocument=document, range=range_, context={"diagnostics": diagnostics}
        )
        assert [action["title"] for action in actions] == ["write count", "write duration"]
        text = applied(WRONG, [edit for action in actions for edit in action["edit"]["changes"][path.as_uri()]])
        text = text.replace("@entry", "@return")
        assert at.change(path, text) == []
        assert at.close() == 0


def test_words_are_offered_with_their_descriptions(tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    with editor() as at:
        assert at.open(path, RIGHT) == []
        text = RIGHT + "@OnTimer(1s) { print(@"
        at.change(path, text)
        items = at.at("completion", path, 2, len("@OnTimer(1s) { print(@"))
        (map_,) = [item for item in items["items"] if item["label"] == "@by"]
        assert map_["detail"] == "hist"
        assert applied(text, [map_["textEdit"]]) == RIGHT + "@OnTimer(1s) { print(@by"
        line = "com.acme.Shop::place { flow.buyer = $customer; state(self).since = nanos; print(flow."
        at.change(path, RIGHT + line)
        items = at.at("completion", path, 2, len(line))
        assert [item["label"] for item in items["items"]] == ["id", "parent", "elapsed", "buyer"]
        at.change(path, text)
        items = at.at("completion", path, 1, RIGHT.splitlines()[1].index("hist") + 2)
        assert items["items"][0]["textEdit"]["newText"] == "hist("
        hovered = at.at("hover", path, 1, RIGHT.splitlines()[1].index("hist") + 2)
        assert "hist(value, k=2)" in hovered["contents"]["value"]
        begin = RIGHT.splitlines()[1].index("hist")
        assert hovered["range"]["start"] == {"line": 1, "character": begin}
        hovered = at.at("hover", path, 1, RIGHT.splitlines()[1].index("least"))
        assert "param least: int" in hovered["contents"]["value"]
        assert at.at("hover", path, 1, 0) is None
        assert at.close() == 0


def test_a_script_is_formatted_and_one_that_does_not_parse_stays_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    options = {"tabSize": 2, "insertSpaces": True}
    with editor() as at:
        text = "Counted::step   @entry{@n=count();}\r\n"
        at.open(path, text)
        edits = at.ask("textDocument/formatting", textDocument={"uri": path.as_uri()}, options=options)
        laid_out = applied(text, edits)
        assert laid_out.replace("\r\n", "\n") == btpy("fmt", "-", stdin=text.replace("\r\n", "\n")).stdout
        assert laid_out.count("\r\n") == laid_out.count("\n")
        at.change(path, laid_out)
        assert at.ask("textDocument/formatting", textDocument={"uri": path.as_uri()}, options=options) == []
        assert at.change(path, "Counted::step @entry { @n = ") != []
        assert at.ask("textDocument/formatting", textDocument={"uri": path.as_uri()}, options=options) == []
        assert at.close() == 0


def test_a_parameter_that_has_to_be_given_and_a_library_beside_are_no_errors(tmp_path: Path) -> None:
    path, library = tmp_path / "script.bt", tmp_path / "own.bt"
    library.write_text("fn big(int n): boolean = n >= 50;\n")
    text = (
        'import "own.bt" as own;\nparam slow: duration;\n'
        "Counted::step @return when duration > slow && own.big($number) { @n = count(); }\n"
    )
    with editor() as at:
        assert at.open(path, text) == []
        library.write_text("fn big(int n): boolean = m >= 50;\n")
        at.tell("textDocument/didSave", textDocument={"uri": path.as_uri()})
        (diagnostic,) = at.diagnostics(path)
        assert "own.bt:1:26" in diagnostic["message"]
        assert at.close() == 0


def test_classes_are_those_of_a_jvm_while_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    with counted(17, "-Dbtpy.name=edited") as target, editor("--pid", "edited") as at:
        assert at.open(path, "Counted::step @entry { @n = sum($number); }\n") == []
        waited(lambda: any("classes are those of Counted" in message for message in at.said), "the JVM")
        hovered = at.at("hover", path, 0, 10)["contents"]["value"]
        assert "step(String name, int number): int" in hovered
        (diagnostic,) = at.change(path, "Counted::stop @entry { @n = count(); }\n")
        assert (diagnostic["severity"], diagnostic["code"]) == (2, "BT303")
        at.change(path, "Counted::st")
        items = at.at("completion", path, 0, len("Counted::st"))["items"]
        assert [item["textEdit"]["newText"] for item in items] == ["step"]
        target.process.kill()
        target.process.wait()
        assert at.change(path, "Counted::stop @entry { @n = count(); }\n") == []
        waited(lambda: any("Counted has ended" in message for message in at.said), "its end")
        assert at.close() == 0


def test_a_missing_jvm_does_not_disturb_editing(tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    with editor("--pid", "nonesuch-at-all") as at:
        (diagnostic,) = at.open(path, "Counted::step @entry { @n = coun(); }\n")
        assert diagnostic["code"] == "BT101"
        assert at.change(path, "Counted::step @entry { @n = count(); }\n") == []
        assert any("nonesuch-at-all" in message for message in at.said)
        assert at.close() == 0


def test_the_encoding_of_positions_is_agreed_on(tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    line = WRONG.splitlines()[1]
    with editor(encodings=("utf-8", "utf-16")) as at:
        assert at.capabilities["positionEncoding"] == "utf-8"
        diagnostic = at.open(path, WRONG)
        assert diagnostic[1]["range"]["start"]["character"] == len(line[: line.index("durration")].encode())
        assert at.close() == 0


def test_it_ends_at_once_though_the_pipe_stays_open() -> None:
    with editor() as at:
        at.tell("exit")  # without the request "shutdown" before it, which is an error
        assert at.process.wait(60) == 1


def test_the_server_ends_when_the_editor_closes_the_pipe() -> None:
    with editor() as at:
        assert at.process.stdin is not None
        at.process.stdin.close()
        at.process.wait(60)


def test_without_pygls_the_message_names_the_package() -> None:
    program = (
        "import sys; sys.modules['pygls'] = sys.modules['lsprotocol'] = None;"
        " from btpy.cli.main import main; sys.exit(main(['lsp']))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "error: btpy lsp needs the package pygls",
        "  = help: pip install 'btpy-jvm-tracer[lsp]'",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", ["", "a", "a\n", "ä𝕏b\r\n\ncd\re", "𝕏"])
def test_places_there_and_back(text: str, encoding: str) -> None:
    positions = Positions(text, encoding)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n":
            assert positions.offset(*positions.position(offset)) == offset
    assert positions.offset(99, 0) == len(text)
    assert positions.offset(0, 99) == len(text.partition("\r")[0].partition("\n")[0])
