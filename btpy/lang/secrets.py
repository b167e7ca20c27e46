"""Names that say that what they name is not to be shown: local variables with such a name are not captured.

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
# fmt: on

#: Parts that tell wherever they stand (``customerPassword2``).
PARTS = ("password", "passwd", "passphrase", "secretkey", "privatekey", "apikey", "accesstoken")

_LONGEST = 64


@lru_cache(maxsize=1024)
def names_secret(name: str) -> bool:
    """True for a name whose letters and digits, in lower case, are one of the words or contain one of the parts."""
    kept = re.sub(r"[^A-Za-z0-9]", "", name).lower()
    return len(name) <= _LONGEST and (kept in WORDS or any(part in kept for part in PARTS))
