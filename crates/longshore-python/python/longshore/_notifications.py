"""What sessions tell each other by LISTEN and NOTIFY."""

from __future__ import annotations

from typing import NamedTuple


class Notification(NamedTuple):
    """What a session has told by ``NOTIFY`` or ``pg_notify``."""

    #: The channel that this connection listens to.
    channel: str
    #: What was said; empty if nothing was.
    payload: str
    #: The number of the session that has said it, as ``pg_backend_pid()`` gives it there.
    pid: int
