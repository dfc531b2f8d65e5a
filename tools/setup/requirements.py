"""Prints the requirements that pyproject.toml names: the build's, the project's, and those of the groups given.

``pip install --group`` would do it, but needs a newer pip than the one that comes with Python 3.11 and 3.12.
"""

import sys
import tomllib
from pathlib import Path


def requirements(groups: list[str]) -> list[str]:
    """One requirement per line for pip, without duplicates, in the order of the file.

    Raises:
        SystemExit: a group that pyproject.toml does not have.
    """
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    lines = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for group in groups:
        if group not in project["dependency-groups"]:
            raise SystemExit(f"pyproject.toml has no dependency group {group!r}")
        lines += project["dependency-groups"][group]
    return list(dict.fromkeys(lines))


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
