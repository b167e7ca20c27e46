"""Names of secrets: the value under such a name is not shown. Users can add names.

The runtime knows the same names, for fields and keys (``btpy.runtime.Secrets``); a test compares the two. Each session
gets the names that a user adds (:class:`Secrets`, ``btpy.runtime.SecretNames``).

A name that a user adds is compared with the letters and digits of a name, and with the letters and digits behind its
last dot. A star matches any number of letters and digits. The client searches texts after they have left the JVM, so a
regular expression never runs on a thread of the traced program. Nevertheless btpy makes a finite automaton of it
(:mod:`btpy.automaton`), because the traced program determines the texts. It could send a text that keeps a backtracking
matcher busy for hours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from btpy.automaton import PatternError, compile_regex
from btpy.dataclass import dataclass
from btpy.errors import UsageError

REDACTED = "•••"
"""The text that is shown instead of a value."""

#: Lower case, letters and digits only; a name is compared as a whole.
# fmt: off
WORDS = frozenset((
    "password", "passwd", "passphrase", "pwd", "pin", "pincode", "secret", "secretkey", "secretaccesskey",
    "clientsecret", "appsecret", "sharedsecret", "token", "accesstoken", "refreshtoken", "idtoken", "authtoken",
    "apitoken", "sessiontoken", "bearertoken", "securitytoken", "usertoken", "csrftoken", "xsrftoken", "csrf", "xsrf",
    "jwt", "auth", "authorization", "proxyauthorization", "authentication", "credential", "credentials", "apikey",
    "apikeyid", "apisecret", "xapikey", "accesskey", "accesskeyid", "privatekey", "encryptionkey", "signingkey",
    "masterkey", "sshkey", "rsakey", "keypassword", "keystorepassword", "truststorepassword", "storepassword",
    "dbpassword", "databasepassword", "userpassword", "adminpassword", "rootpassword", "oldpassword", "newpassword",
    "confirmpassword", "passwordhash", "cookie", "cookies", "setcookie", "sessionid", "sessionkey", "jsessionid",
    "phpsessid", "connectsid", "ssn", "socialsecuritynumber", "creditcard", "creditcardnumber", "cardnumber",
    "ccnumber", "cvv", "cvc", "cvv2", "securitycode", "iban", "accountnumber", "routingnumber", "otp", "totp",
    "mfacode", "privatekeypem", "xauthtoken", "xcsrftoken", "xforwardedauthorization", "oauthtoken", "oauthsecret",
    "awssecretaccesskey", "awssessiontoken",
))

#: A name is secret if its last word is one of these (``slackToken``, ``db.pwd``, ``GITHUB_SECRET``).
LAST_WORDS = frozenset((
    "token", "secret", "pwd", "credential", "credentials", "cookie", "jwt", "otp", "cvv", "ssn", "iban", "passcode",
))

#: Parts that mark a secret at any position in the name (``customerPassword2``).
PARTS = ("password", "passwd", "passphrase", "secretkey", "privatekey", "apikey", "accesstoken")

# fmt: on

_LONGEST = 64
_LAST_WORD = re.compile(r"[A-Z]+\Z|[A-Z]?[a-z0-9]+\Z")


@lru_cache(maxsize=1024)
def names_secret(name: str) -> bool:
    """True for a name whose letters and digits, in lower case, are one of the words or contain one of the parts.

    It is also true if the last word is one of ``LAST_WORDS``. A word begins with a capital letter, or after a character
    that is neither a letter nor a digit. Consecutive capital letters are one word.
    """
    if len(name) > _LONGEST:
        return False
    letters = re.sub(r"[^A-Za-z0-9]", "", name).lower()
    if letters in WORDS or any(part in letters for part in PARTS):
        return True
    last = _LAST_WORD.search(name)
    return last is not None and last[0].lower() in LAST_WORDS


MOST_NAMES = 64
MOST_TEXTS = 16
LONGEST_TEXT = 200
"""The largest number of characters of a regular expression."""

_NAME = re.compile(r"[\w$.*-]+")
_HELP = (
    "a name: customerNumber, or with a star: *number",
    r"a regular expression for texts: '/AC-[0-9]{6}/'",
)


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets that a user adds to the secrets that btpy knows. ``names``: letters and digits, ASCII letters in
    lower case, with stars. ``texts``: regular expressions, without slashes, for parts of texts that are hidden."""

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @staticmethod
    def of(entries: Iterable[str], origin: str = "--secret") -> Secrets:
        """Parses the values of ``--secret``: names with commas between them, or one ``/REGEX/``. ``origin``: the
        name of the source of the values in messages. Raises UsageError.
        """
        names: dict[str, None] = {}
        texts: dict[str, None] = {}
        for text in entries:
            if text.startswith("/"):
                texts[_checked_regex(text, origin)] = None
            else:
                names.update(dict.fromkeys(_checked_name(name.strip(), text, origin) for name in text.split(",")))
        return NO_SECRETS.with_(Secrets(tuple(names), tuple(texts)))

    def with_(self, others: Secrets) -> Secrets:
        """Both. Raises UsageError if there are too many."""
        names = tuple(dict.fromkeys((*self.names, *others.names)))
        texts = tuple(dict.fromkeys((*self.texts, *others.texts)))
        for count, most, kind in ((len(names), MOST_NAMES, "names"), (len(texts), MOST_TEXTS, "regular expressions")):
            if count > most:
                raise UsageError(
                    f"{count} {kind} of secrets are added, and at most {most} are possible",
                    help=["one name or expression can cover several secrets: *number, '/(AC|BC)-[0-9]{6}/'"],
                )
        return Secrets(names, texts)

    def names_secret(self, name: str) -> bool:
        """Like :func:`names_secret`, with the added names."""
        return names_secret(name) or (bool(self.names) and _is_added(self.names, name))

    def gives_secret(self, member: str) -> bool:
        """True for a method or field whose value is a secret by its name: ``getPassword``, ``password``, ``apiKey``."""
        return self.names_secret(member) or (member.startswith("get") and self.names_secret(member[3:]))


NO_SECRETS = Secrets()


@lru_cache(maxsize=1024)
def _is_added(patterns: tuple[str, ...], name: str) -> bool:
    if len(name) > _LONGEST:
        return False
    name_letters, last = _letters(name), _letters(name.rpartition(".")[2])
    return any(_matches(pattern, name_letters) or (bool(last) and _matches(pattern, last)) for pattern in patterns)


def _letters(name: str) -> str:
    """The form of a name for comparison: ASCII letters in lower case, digits, and unchanged characters beyond ASCII."""
    return "".join(char.lower() if char.isascii() else char for char in name if char.isalnum() or not char.isascii())


def _matches(pattern: str, letters: str) -> bool:
    """Whether the pattern matches. It backtracks to the last star only, like ``btpy.runtime.SecretNames``."""
    at, place, star, retry = 0, 0, -1, 0
    while at < len(letters):
        if place < len(pattern) and pattern[place] == "*":
            star, retry = place, at
            place += 1
        elif place < len(pattern) and pattern[place] == letters[at]:
            place += 1
            at += 1
        elif star >= 0:
            retry += 1
            place, at = star + 1, retry
        else:
            return False
    return not pattern[place:].strip("*")


def _checked_name(name: str, text: str, origin: str) -> str:
    if not name:
        raise UsageError(f"{origin} {text!r} has an empty name", help=_HELP)
    if not _NAME.fullmatch(name):
        alone = [f"a regular expression must stand alone, because it may contain commas: {origin} '{name}'"]
        is_regex = name.startswith("/") and name.endswith("/")
        raise UsageError(
            f"{origin} {name!r} is neither a name nor a regular expression", help=alone if is_regex else _HELP
        )
    letters = "*".join(map(_letters, re.split(r"\*+", name)))
    if not letters.strip("*"):
        raise UsageError(f"{origin} {name!r} matches every name", help=["a name needs a letter or a digit"])
    if len(letters) > _LONGEST:
        raise UsageError(f"{origin} {name!r} is too long", help=[f"a name can have at most {_LONGEST} characters"])
    return letters


def _checked_regex(text: str, origin: str) -> str:
    regex = text[1:-1]
    if len(text) < 3 or not text.endswith("/"):
        raise UsageError(
            f"{origin} {text} is not a regular expression", help=["write it between slashes: '/AC-[0-9]{6}/'"]
        )
    if len(regex) > LONGEST_TEXT:
        raise UsageError(
            f"{origin} {text} is too long", help=[f"a regular expression can have at most {LONGEST_TEXT} characters"]
        )
    bare = regex.removeprefix("(?i)")
    if bare.startswith("^") or re.search(r"(?<!\\)(?:\\\\)*\$\Z", bare):
        raise UsageError(
            f"{origin} {text}: ^ and $ are not possible", help=["leave them out: texts are searched from end to end"]
        )
    try:
        table = compile_regex(regex)
    except PatternError as error:
        help_ = [error.help] if error.help else []
        raise UsageError(f"{origin} {text}: {error}, at character {error.at + 1}", help=help_) from None
    if _matches_empty_text(table):
        raise UsageError(
            f"{origin} {text} also matches an empty text", help=["a secret must have at least one character"]
        )
    return regex


def _matches_empty_text(table: str) -> bool:
    """Whether the start state of an automaton (:func:`btpy.automaton.compile_regex`) accepts."""
    intervals = ord(table[0])
    return bool(ord(table[3 + 2 * intervals + 1]))
