"""Names of secrets: the value under such a name is not shown.

The run-time knows the same names, for fields and keys (``btpy.runtime.Secrets``); a test compares the two.
"""

from __future__ import annotations

import re
from functools import lru_cache

REDACTED = "•••"
"""What is shown in the place of a value."""

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

#: A name is that of a secret if its last word is one of these (``slackToken``, ``db.pwd``, ``GITHUB_SECRET``).
LAST_WORDS = frozenset((
    "token", "secret", "pwd", "credential", "credentials", "cookie", "jwt", "otp", "cvv", "ssn", "iban", "passcode",
))

#: Parts that tell wherever they stand (``customerPassword2``).
PARTS = ("password", "passwd", "passphrase", "secretkey", "privatekey", "apikey", "accesstoken")

# fmt: on

_LONGEST = 64
_LAST_WORD = re.compile(r"[A-Z]+\Z|[A-Z]?[a-z0-9]+\Z")


@lru_cache(maxsize=1024)
def names_secret(name: str) -> bool:
    """True for a name whose letters and digits, in lower case, are one of the words or contain one of the parts.

    Also for one whose last word is one of ``LAST_WORDS``. A word begins with a capital letter or behind another
    character than a letter or digit; capital letters behind one another are one word.
    """
    if len(name) > _LONGEST:
        return False
    kept = re.sub(r"[^A-Za-z0-9]", "", name).lower()
    if kept in WORDS or any(part in kept for part in PARTS):
        return True
    last = _LAST_WORD.search(name)
    return last is not None and last[0].lower() in LAST_WORDS


def gives_secret(member: str) -> bool:
    """True for a method or field whose value is a secret by its name: ``getPassword``, ``password``, ``apiKey``."""
    return names_secret(member) or (member.startswith("get") and names_secret(member[3:]))
