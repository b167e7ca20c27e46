"""``btpy completion``: scripts for shells, and the candidates for a word of a command line, which these scripts
request.

The candidates come from the tables of the commands: names, flags, the choices of a flag, and the kinds of arguments
from the first line of usage (``PID|NAME``, ``FILE.bt``, a word in small letters is literal).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option, number
from btpy.cli.printing import print_text
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.api.jvms import JvmProcess

COMMAND = Command(
    name="completion",
    usage=("completion bash|zsh|fish",),
    summary="completion of command lines for your shell",
    about=(
        "Prints a script that teaches the shell to complete commands, flags and their values, running JVMs, scripts\n"
        "and libraries of btpy."
    ),
    options=(Option(("--word",), "instead, print the candidates for this word of the command line after --", "N"),),
    positionals=(0, 1),
    takes_command=True,
    examples=(
        ("completion bash > /etc/bash_completion.d/btpy", "for all users; for one user: into ~/.bashrc"),
        ("completion zsh > ~/.zsh/functions/_btpy", "into a directory of $fpath"),
        ("completion fish > ~/.config/fish/completions/btpy.fish", "for fish"),
    ),
)

_BASH = """\
# btpy completion bash
_btpy() {
    local IFS=$'\\n' line value
    COMPREPLY=()
    for line in $(btpy completion --word "$COMP_CWORD" -- "${COMP_WORDS[@]}" 2>/dev/null); do
        value=${line%%$'\\t'*}
        case $value in
            :files*) COMPREPLY+=($(compgen -f -X "!*${value#:files}" -- "${COMP_WORDS[COMP_CWORD]}") \\
                                 $(compgen -d -- "${COMP_WORDS[COMP_CWORD]}")); compopt -o filenames ;;
            :directories) COMPREPLY+=($(compgen -d -- "${COMP_WORDS[COMP_CWORD]}")); compopt -o filenames ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -F _btpy btpy
"""

_ZSH = """\
#compdef btpy
# btpy completion zsh
_btpy() {
    local line value about
    local -a found
    for line in "${(@f)$(btpy completion --word $((CURRENT - 1)) -- "${words[@]}" 2>/dev/null)}"; do
        value=${line%%$'\\t'*}
        case $value in
            '') ;;
            :files*) _path_files -g "*${value#:files}(-.)" ; _path_files -/ ;;
            :directories) _path_files -/ ;;
            *) about=${line#*$'\\t'} ; found+=("${value//:/\\\\:}${about:+:$about}") ;;
        esac
    done
    (( ${#found} )) && _describe btpy found
}
if [ "$funcstack[1]" = _btpy ]; then _btpy "$@"; else compdef _btpy btpy; fi
"""

_FISH = """\
# btpy completion fish
function __btpy_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (btpy completion --word (math (count $words) - 1) -- $words 2>/dev/null)
        set -l value (string split -f1 \\t -- $line)
        switch $value
            case ':files*'
                set -l suffix (string escape --style=regex -- (string replace ':files' '' -- $value))
                __fish_complete_path (commandline -ct) | string match -r -- "^.*(?:/|$suffix)(?:\\t.*)?\\$"
            case ':directories'
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c btpy -f -a '(__btpy_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class Candidate(NamedTuple):
    """``text`` may begin with a colon: ``:files.bt`` and ``:directories`` are completed by the shell."""

    text: str
    about: str = ""


class Sources(NamedTuple):
    """Candidates that are not in the tables. They are looked up only if they are possible."""

    jvms: Callable[[], Iterable[Candidate]]
    libraries: Callable[[], Iterable[Candidate]]


def run(arguments: Arguments, console: Console) -> int:
    word = arguments.text("word")
    if word is not None:
        words = arguments.command
        completions = candidates(words, number("--word", word), Sources(_jvms, _libraries))
        text = "".join(
            f"{candidate.text}\t{_line(candidate.about)}\n" for candidate in completions if candidate.text.isprintable()
        )
    elif arguments.positionals and arguments.positionals[0] in _SCRIPTS:
        text = _SCRIPTS[arguments.positionals[0]]
    else:
        shell = os.path.basename(os.environ.get("SHELL", ""))
        likely = shell if shell in _SCRIPTS else "bash"
        raise UsageError("for which shell?", help=[f"btpy completion {likely}", f"there are {', '.join(_SCRIPTS)}"])
    print_text(text)
    return 0


def candidates(words: Sequence[str], at: int, sources: Sources) -> list[Candidate]:
    """The candidates for the word number ``at``; ``words[0]`` is btpy itself. Bash splits at ``=``. Other shells treat
    ``--format=js`` as one word.
    """
    earlier_words, current_word = _joined(list(words[1:at])), words[at] if at < len(words) else ""
    if current_word == "=":
        earlier_words, current_word = _joined([*earlier_words, "="]), ""
    option, equals, value = current_word.partition("=")
    if equals and option.startswith("--"):
        return [
            candidate if candidate.text.startswith(":") else candidate._replace(text=f"{option}={candidate.text}")
            for candidate in _at([*earlier_words, f"{option}="], value, sources)
            if candidate.text.startswith((value, ":"))
        ]
    return [
        candidate
        for candidate in _at(earlier_words, current_word, sources)
        if candidate.text.startswith((current_word, ":"))
    ]


def _line(text: str) -> str:
    """A text from the process of another user, without line ends, because each line is a completion."""
    from btpy.output.values import visible

    return visible(text)


def _joined(words: list[str]) -> list[str]:
    """``--format = js`` as ``--format=js``."""
    result: list[str] = []
    for word in words:
        if result and (word == "=" or result[-1].endswith("=")) and result[-1].startswith("--"):
            result[-1] += word
        else:
            result.append(word)
    return result


def _at(before: list[str], current: str, sources: Sources) -> Iterator[Candidate]:
    from btpy.cli import commands

    name = before[0] if before and before[0] in commands.NAMES else ""
    if not before:
        yield from (Candidate(name, commands.command(name).summary) for name in commands.NAMES)
    command = commands.command(name)
    options = {name: option for option in command.options for name in option.names}
    last = before[-1].rstrip("=") if before else ""
    if last in options and options[last].metavar and (not before[-1].startswith("--") or "=" not in before[-1][:-1]):
        yield from _values(options[last], sources)
        return
    if current.startswith("-"):
        yield from _flags(command, before)
        return
    yield from _arguments(command, before[1:] if name else before, options, sources)


def _flags(command: Command, before: Sequence[str]) -> Iterator[Candidate]:
    for option in (*command.options, Option(("-h", "--help"), "print this")):
        if option.repeat or not set(option.names) & set(before):
            yield from (Candidate(name, option.help) for name in option.names)


def _values(option: Option, sources: Sources) -> Iterator[Candidate]:
    if option.choices:
        from btpy.output.formats import FORMATS

        summaries = {format_.name: format_.summary for format_ in FORMATS} if option.key == "format" else {}
        yield from (Candidate(choice, summaries.get(choice, "")) for choice in option.choices)
    elif option.key == "allow":
        from btpy.cli.permissions import CAPABILITIES

        yield from (Candidate(capability, description) for capability, description in CAPABILITIES.items())
    else:
        yield from _meant(option.metavar, sources)


def _arguments(
    command: Command, before: Sequence[str], options: dict[str, Option], sources: Sources
) -> Iterator[Candidate]:
    """The candidates from the usage lines that agree with the earlier words."""
    positionals: list[str] = []
    skip = False
    for word in before:
        if skip or word.startswith("-"):
            skip = not skip and word in options and bool(options[word].metavar)
        else:
            positionals.append(word)
    meanings: dict[Candidate, None] = {}
    for usage in command.usage:
        expected = _expected(usage, command.name)
        if len(positionals) < len(expected) and all(map(_agrees, expected, positionals)):
            meanings.update(dict.fromkeys(_meant(expected[len(positionals)], sources)))
        elif expected and expected[-1].endswith("…"):
            meanings.update(dict.fromkeys(_meant(expected[-1], sources)))
    yield from meanings


def _expected(usage: str, name: str) -> list[str]:
    """The arguments in a line of usage, up to the first optional argument or the explanation."""
    words = []
    for word in usage.removeprefix(name).split("  ")[0].split():
        if word.startswith(("-", "[")) and not word.startswith("[C"):
            break
        words.append(word.strip("[]"))
    return words


def _agrees(expected: str, word: str) -> bool:
    return not expected.islower() or word in expected.split("|")


def _meant(metavar: str, sources: Sources) -> Iterator[Candidate]:
    """The candidates for a word of usage, or for the value of an option."""
    for choice in metavar.rstrip("…").split("|"):
        if choice in ("PID", "NAME") and "PID" in metavar:
            if choice == "PID":
                yield from sources.jvms()
        elif choice in ("FILE.bt", "FILE"):
            yield Candidate(":files.bt")
            yield from sources.libraries()
        elif choice == "LIBRARY":
            yield from sources.libraries()
        elif choice.startswith("FILE."):
            yield Candidate(":files" + choice.removeprefix("FILE"))
        elif choice in ("DIR", "HOME"):
            yield Candidate(":directories")
        elif choice == "PATHS":
            yield Candidate(":files.jar")
        elif choice == "CODE":
            yield from _codes()
        elif choice.islower() and choice.isalpha():
            yield Candidate(choice)


def _codes() -> Iterator[Candidate]:
    from btpy.explanations import explanations

    return (Candidate(code, explanation.title) for code, explanation in explanations().items())


def _jvms() -> Iterator[Candidate]:
    from btpy.api.jvms import list_jvms

    processes = [jvm for jvm in list_jvms() if jvm.attachable and not jvm.is_btpys_own]
    yield from (Candidate(str(process.pid), process.main) for process in processes)
    names = [process.name or process.short_main for process in processes]
    for name, process in zip(names, processes, strict=True):
        if _is_one(name, names):
            yield Candidate(name, str(process.pid))
    yield from _places(processes)


def _places(processes: Sequence[JvmProcess]) -> Iterator[Candidate]:
    """Names of containers and pods in which one JVM runs."""
    places = [(process, container) for process in processes if (container := process.container) is not None]
    pods = [container.pod for _, container in places]
    ids = [container.id for _, container in places]
    for process, container in places:
        if container.pod and pods.count(container.pod) == 1:
            yield Candidate(f"pod/{container.pod}", f"{process.pid} {process.short_main}")
        elif container.id and ids.count(container.id) == 1:
            yield Candidate(f"container/{container.short_id}", f"{process.pid} {process.short_main}")


def _is_one(name: str, names: Sequence[str]) -> bool:
    """Whether the name means only this JVM, is neither an option nor a pid, and has no characters special to the
    shell."""
    return (
        names.count(name) == 1
        and all(char.isalnum() or char in "._-" for char in name)
        and not (name.startswith("-") or name.isdigit())
    )


def _libraries() -> Iterator[Candidate]:
    from btpy.api.libraries import PACKAGED, Libraries

    for library in Libraries.of(os.environ, []).all():
        yield Candidate(library.name.removeprefix(f"{PACKAGED}."), "library")
