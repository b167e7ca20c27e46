"""The file in which a user keeps names and patterns of secrets for every run: ``~/.config/btpy/redact``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from btpy.errors import UsageError
from btpy.files import open_trusted
from btpy.model.secrets import NO_SECRETS, Secrets

_MOST_BYTES = 64 * 1024


def path_of(environment: Mapping[str, str]) -> Path:
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(home) / "btpy" / "redact"


def configured(environment: Mapping[str, str]) -> Secrets:
    """The secrets of the file: each line is a value of ``--secret``, or a comment that begins with ``#``. Without the
    file there are no such secrets. Raises UsageError for a file that cannot be read: otherwise its secrets would be
    shown.
    """
    path = path_of(environment)
    try:
        with open_trusted(path) as file:
            data = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return NO_SECRETS
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path} is too long", help=[f"it can have at most {_MOST_BYTES} bytes"])
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8") from None
    secrets = NO_SECRETS
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            secrets = secrets.with_(Secrets.of([line.strip()], f"{path}:{number}:"))
    return secrets
