"""Some loads by one engine in a process of its own: prints the best seconds, and the facts, as JSON.

A process of its own keeps an engine that crashes from taking others with it. The first load of a process pays for
memory that the machine has to find first; the later ones show the engine.
"""

import json
import sys

import engines
import text


def main() -> None:
    engine, path, dialect, threads, loads, binary = sys.argv[1:]
    name, is_keyed = engine.removesuffix(text.WITH_KEY), engine.endswith(text.WITH_KEY)
    name, is_durable = name.removesuffix(text.ON_DISK), name.endswith(text.ON_DISK)
    if name == "Longshore":
        seconds, facts = engines.longshore(path, dialect, int(threads), binary, int(loads), is_keyed, is_durable)
    else:
        more = ({"keyed": True} if is_keyed else {}) | ({"durable": True} if is_durable else {})
        done = [engines.RIVALS[name](path, dialect, int(threads), **more) for _ in range(int(loads))]
        seconds, facts = min(seconds for seconds, _ in done), done[-1][1]
    print(json.dumps({"seconds": seconds, "facts": text.normal(facts)}))


if __name__ == "__main__":
    main()
