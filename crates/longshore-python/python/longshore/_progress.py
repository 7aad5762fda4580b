"""A bar that shows how far a load is, as tqdm draws it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

#: Seconds before the first bar: shorter work has none.
_PATIENCE = 0.5
_STEP = 0.1
_CELLS = 20
_PARTS = " ▏▎▍▌▋▊▉█"


class Working(Protocol):
    """What says how far it is: bytes done, bytes in all (0 if unknown), rows."""

    def progress(self) -> tuple[int, int, int] | None: ...


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02}:{rest:02}"


def line(done: int, total: int, rows: int, seconds: float) -> str:
    """The bar for so many bytes of a total, which is 0 where it is not known."""
    speed = done / seconds if seconds > 0 else 0.0
    shown = f"{done / 1e9:.2f} GB, {rows:,} rows, {speed / 1e9:.2f} GB/s"
    if total <= 0:
        return f"{shown} [{_clock(seconds)}]"
    share = min(1.0, done / total)
    eighths = int(share * _CELLS * 8)
    bar = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths < _CELLS * 8 else "")
    left = (total - done) / speed if speed > 0 else 0.0
    return f"{share:4.0%}|{bar:<{_CELLS}}| {shown} [{_clock(seconds)}<{_clock(left)}]"


def is_shown() -> bool:
    """Whether anybody sees a bar: on a terminal, and in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def bar(working: Working, shown: bool | None) -> Iterator[None]:
    """Draws a bar on standard error meanwhile; `None` where somebody sees it."""
    if not (is_shown() if shown is None else shown):
        yield
        return
    done = threading.Event()
    began = time.monotonic()

    def draw() -> None:
        width = 0
        while not done.wait(_STEP if width else _PATIENCE):
            progress = working.progress()
            if progress is not None:
                text = line(*progress, time.monotonic() - began)
                print(f"\r{text:<{width}}", end="", file=sys.stderr, flush=True)
                width = max(width, len(text))
        if width:
            print(f"\r{'':<{width}}\r", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
