"""One load by one engine in a process of its own: prints seconds and facts as JSON.

A process of its own gives every load fresh memory, and keeps an engine that crashes from taking others with it.
"""

import json
import sys

import engines
from text import normal


def main() -> None:
    engine, path, dialect, threads, binary = sys.argv[1:]
    if engine == "Longshore":
        seconds, facts = engines.longshore(path, dialect, int(threads), binary)
    else:
        seconds, facts = engines.RIVALS[engine](path, dialect, int(threads))
    print(json.dumps({"seconds": seconds, "facts": normal(facts)}))


if __name__ == "__main__":
    main()
