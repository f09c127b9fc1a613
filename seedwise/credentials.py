"""Addresses that may hold a password: how they must be written, and how all that is shown or kept leaves it out."""

import base64
import re
from urllib.parse import quote, unquote

from seedwise.errors import RequestError

# user:password before the last @, since people write @ and / into passwords as they are; of the web's addresses also
# a user alone, who may be a token. After :/// comes a path, which has no user.
_USER = re.compile(
    r"""(?i)(?<=://)(?!/)(?:[^\s"':]*:[^\s"']*|(?:(?<=http://)|(?<=https://))[^\s"'/?#]*)(?=@)""",
)
_VALUE = re.compile(
    r"""(?i)(?:(?:password|passwd|pwd)(?:=|%3d)|[?&][\w.-]*(?:token|secret|signature|sig|key)=)([^\s"'&]+)"""
)
HIDDEN = "***"
RECOGNISABLE = 4  # letters of a password that is looked for by itself: a shorter one is part of too many words


def mask(text: str, address: str = "") -> str:
    """The text without the credentials of any address in it.

    With `address`, its password is left out also where it stands alone, as a server or a driver may quote it.
    """
    for secret in _secrets(address):
        text = text.replace(secret, HIDDEN)
    text = _USER.sub(HIDDEN, text)
    return _VALUE.sub(lambda found: found[0][: -len(found[1])] + HIDDEN, text)


def has_password(address: str) -> bool:
    """Whether a text that is an address and nothing else has one, however it is written."""
    return mask(address) != address or re.search("(?s)://(?!/)[^:]*:.*@", address) is not None


def check_address(key: str, address: str) -> None:
    """Refuse a password with letters that end an address where it is quoted, so that a part of it might be shown."""
    user = _USER.search(address)
    if has_password(address) and (re.search(r"""[\s"']""", address) or (user and re.search("[@/?#]", user[0]))):
        raise RequestError(
            key, "its password has a blank, a quote, @, / or the like", "Write these as %20, %22, %27, %40, %2F."
        )


def _secrets(address: str) -> list[str]:
    """What an address keeps secret, in all forms in which a message may have it, the longest first."""
    user = _USER.search(address)
    name, colon, password = user[0].partition(":") if user else ("", "", "")
    found = {password if colon else name, *_VALUE.findall(address)}
    found |= {unquote(one) for one in found}
    found |= {quote(one, safe="") for one in found}
    if user:
        found.add(base64.b64encode(unquote(user[0]).encode()).decode())  # in the header of a request
    return sorted((one for one in found if len(one) >= RECOGNISABLE), key=len, reverse=True)
