"""Passwords in addresses: how they must be written, and how they are left out of all that is shown or saved."""

import base64
import re
from urllib.parse import quote, unquote

from seedwise.errors import RequestError

# user:password before the last @, since people write @ and / into passwords as they are; in web addresses also a user
# alone, which may be a token. After :/// comes a path, which has no user.
_USER = re.compile(
    r"""(?i)(?<=://)(?!/)(?:[^\s"':]*:[^\s"']*|(?:(?<=http://)|(?<=https://))[^\s"'/?#]*)(?=@)""",
)
_VALUE = re.compile(
    r"""(?i)(?:(?:password|passwd|pwd)(?:=|%3d)|[?&][\w.-]*(?:token|secret|signature|sig|key)=)([^\s"'&]+)"""
)
HIDDEN = "***"
SHORTEST_SECRET = 4  # letters of a password that is masked by itself: a shorter password is part of too many words


def mask(text: str, address: str = "") -> str:
    """The text without the credentials of any address in it.

    With `address`, its password is left out also where it stands alone, as a server or a driver may quote it.
    """
    for secret in _secrets(address):
        text = text.replace(secret, HIDDEN)
    text = _USER.sub(HIDDEN, text)
    return _VALUE.sub(lambda match: match[0][: -len(match[1])] + HIDDEN, text)


def has_password(address: str) -> bool:
    """Whether an address, which is the whole text, has a password, however it is written."""
    return mask(address) != address or re.search("(?s)://(?!/)[^:]*:.*@", address) is not None


def check_address(key: str, address: str) -> None:
    """Refuse a password with characters at which an address in a message seems to end: the rest could be shown."""
    user = _USER.search(address)
    if has_password(address) and (re.search(r"""[\s"']""", address) or (user and re.search("[@/?#]", user[0]))):
        raise RequestError(
            key, "its password has a blank, a quote, @, / or the like", "Write these as %20, %22, %27, %40, %2F."
        )


def _secrets(address: str) -> list[str]:
    """The secrets in an address, in every form in which a message may quote them, the longest first."""
    user = _USER.search(address)
    name, colon, password = user[0].partition(":") if user else ("", "", "")
    secrets = {password if colon else name, *_VALUE.findall(address)}
    secrets |= set(map(unquote, secrets))
    secrets |= {quote(secret, safe="") for secret in secrets}
    if user:
        secrets.add(base64.b64encode(unquote(user[0]).encode()).decode())  # in the header of a request
    return sorted((secret for secret in secrets if len(secret) >= SHORTEST_SECRET), key=len, reverse=True)
