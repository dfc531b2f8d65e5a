"""Write docs/behaviours.md from the table of switches.

python -m cannery.tools.generate.behaviours FILE            write it
python -m cannery.tools.generate.behaviours --check FILE    status 1, with what to do, when it is out of date
"""

import sys
from pathlib import Path

from cannery.tools import behaviours


def main(arguments: list[str]) -> int:
    """Returns the exit status."""
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[-1])
    text = behaviours.markdown()
    if not check:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return 0
    print(f"{path} is out of date: run `make behaviour-page` and commit it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
