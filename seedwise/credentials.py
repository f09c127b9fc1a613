"""Checks how passwords are written in addresses, and masks them in everything that is shown or saved."""

import base64
import re
from urllib.parse import quote, unquote

from seedwise.errors import RequestError

# Matches user:password up to the last @, since people write @ and / into passwords unescaped. In web addresses it also
# matches a user without a password, which may be a token. After :/// comes a path, which has no user.
_USER = re.compile(
    r"""(?i)(?<=://)(?!/)(?:[^\s"':]*:[^\s"']*|(?:(?<=http://)|(?<=https://))[^\s"'/?#]*)(?=@)""",
)
_VALUE = re.compile(
    r"""(?i)(?:(?:password|passwd|pwd)(?:=|%3d)|[?&][\w.-]*(?:token|secret|signature|sig|key)=)([^\s"'&]+)"""
)
HIDDEN = "***"
SHORTEST_SECRET = 4  # characters: a shorter password is not masked outside an address, since too many words contain it


def mask(text: str, address: str = "") -> str:
    """Replace the credentials of every address in a text by `***`.

    The password of `address` is masked outside of addresses too, since a server or a driver may quote it by itself.
    """
    for secret in _secrets(address):
        text = text.replace(secret, HIDDEN)
    text = _USER.sub(HIDDEN, text)
    return _VALUE.sub(lambda match: match[0][: -len(match[1])] + HIDDEN, text)


def has_password(address: str) -> bool:
    """Whether `address`, which must be the whole text, contains a password in any spelling."""
    return mask(address) != address or re.search("(?s)://(?!/)[^:]*:.*@", address) is not None


def check_address(key: str, address: str) -> None:
    """Refuse a password with characters that seem to end the address in a message: the rest would not be masked."""
    user = _USER.search(address)
    if has_password(address) and (re.search(r"""[\s"']""", address) or (user and re.search("[@/?#]", user[0]))):
        raise RequestError(
            key, "its password has a blank, a quote, @, / or the like", "Write these as %20, %22, %27, %40, %2F."
        )


def _secrets(address: str) -> list[str]:
    """The secrets in an address in every form in which a message may quote them, longest first."""
    user = _USER.search(address)
    name, colon, password = user[0].partition(":") if user else ("", "", "")
    secrets = {password if colon else name, *_VALUE.findall(address)}
    secrets |= set(map(unquote, secrets))
    secrets |= {quote(secret, safe="") for secret in secrets}
    if user:
        secrets.add(base64.b64encode(unquote(user[0]).encode()).decode())  # as in a request header
    return sorted((secret for secret in secrets if len(secret) >= SHORTEST_SECRET), key=len, reverse=True)
