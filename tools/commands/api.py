"""``cannery api``: what there is of each function of the runtime API."""

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import click

from cannery.tools.errors import Failure, suggestion

if TYPE_CHECKING:
    from cannery.tools.coverage import Row


@click.command(name="api")
@click.argument("functions", nargs=-1, metavar="[FUNCTION]...")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with one object per function.")
@click.option("--unsupported", is_flag=True, help="Only functions without implementation.")
def command(functions: tuple[str, ...], as_json: bool, unsupported: bool) -> None:
    """List the functions of the runtime API: which work, on which products, who calls them.

    \b
    Examples:
      cannery api
      cannery api aclrtMalloc                   its parameters too
      cannery api 'aclrtMem*' --unsupported
      cannery api --json | jq -r '.[] | select(.implemented | not) | .name'

    \b
    clients   how many of the public client programs that were looked at call the function
    tests     in how many of Cannery's own tests it was called
    raw       parameters whose meaning is not known yet: they are recorded as numbers

    Exit status: 0 fine, 2 there is no such function.
    """
    from cannery.tools import coverage

    rows = _chosen(coverage.rows(), functions)
    single = len(rows) == 1 and functions == (rows[0].name,)
    if unsupported:
        rows = [row for row in rows if not row.implemented]
    if as_json:
        click.echo(json.dumps([row.to_json() for row in rows], indent=1))
    elif single and rows:
        _describe(rows[0], coverage.client_count())
    else:
        _list(rows)
        click.echo(coverage.summary(rows))


def _chosen(rows: "list[Row]", patterns: tuple[str, ...]) -> "list[Row]":
    names = [row.name for row in rows]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            what = "no function matches" if any(mark in pattern for mark in "*?[") else "there is no function"
            raise Failure(f"{what} {pattern}{suggestion(pattern, names)}")
    return [row for row in rows if not patterns or any(fnmatchcase(row.name, pattern) for pattern in patterns)]


def _list(rows: "list[Row]") -> None:
    width = max((len(row.name) for row in rows), default=0)
    if rows:
        click.echo(f"{'function':<{width}}  works  clients  tests  raw  products")
    for row in rows:
        works = "yes" if row.implemented else "-"
        click.echo(
            f"{row.name:<{width}}  {works:<5}  {row.clients:>7}  {row.tests:>5}  {row.raw:>3}  {row.product_text}"
        )


def _describe(row: "Row", clients: int) -> None:
    from cannery.runtime.api import MODEL

    function = MODEL[row.name]
    declared = ", ".join(_declaration(param.ctype, param.name) for param in function.params)
    click.echo(f"{_declaration(function.returns, function.name)}({declared or 'void'})")
    state = "implemented" if row.implemented else "not implemented: exported, answers 'not supported'"
    click.echo(f"  state     {state}{', deprecated' if row.deprecated else ''}")
    click.echo(f"  header    {f'acl/{function.header}' if function.header else 'none declares it'}")
    click.echo(f"  chapter   {row.chapter}")
    undocumented = "the documents do not say; all are assumed"
    click.echo(f"  products  {row.product_text if row.documented else undocumented}")
    click.echo(f"  clients   {row.clients} of {clients}")
    click.echo(f"  tests     {row.tests}")
    width = max((len(param.name) for param in function.params), default=0)
    for param in function.params:
        click.echo(f"  {param.name:<{width}}  {param.role.direction:<5}  {_meaning(param.role.shape)}")


def _declaration(ctype: str, name: str) -> str:
    return f"{ctype}{name}" if ctype.endswith("*") else f"{ctype} {name}"


def _meaning(shape: str) -> str:
    return "not known yet (raw)" if shape == "raw" else shape.replace("_", " ")
