"""Write docs/coverage.md from the API model, the handlers and the counts of the last test run.

python -m cannery.tools.generate.coverage FILE            write it
python -m cannery.tools.generate.coverage --check FILE    status 1, with what to do, when it is out of date
"""

import sys
from pathlib import Path

from cannery.tools import coverage

_REMEDY = "run `make coverage-table` and commit docs/coverage.md and tools/data/tests.json"


def main(arguments: list[str]) -> int:
    """Returns the exit status."""
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[-1])
    rows = coverage.rows()
    text = coverage.markdown(rows)
    if not check:
        path.write_text(text, encoding="utf-8")
        return 0
    problems = []
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        problems.append(f"{path} is out of date")
    if names := coverage.untested(rows):
        problems.append(f"no test calls {', '.join(names)}")
    if problems:
        print(f"{'; '.join(problems)}: {_REMEDY}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
