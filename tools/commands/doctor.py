"""``cannery doctor``: check that Cannery works here, and say what to do where it does not."""

import json
import os
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from cannery.tools.doctor.findings import Finding

_SHOWN: Final = 8  # items of one finding


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--clean", is_flag=True, help="Remove what is left over. Not while a recorded program runs.")
@click.pass_context
def command(context: click.Context, /, as_json: bool, clean: bool) -> None:
    """Check that programs can be run and recorded here, and say what to do about what is found.

    \b
    ok        works
    note      worth knowing; nothing has to be done
    problem   does not work; the line below says what to do

    \b
    Examples:
      cannery doctor
      cannery doctor --json | jq '.checks[] | select(.state == "problem")'

    Exit status: 0 without problems, 1 with one.
    """
    from cannery.tools.doctor.findings import PROBLEM

    findings = _findings(clean)
    status = int(any(finding.state == PROBLEM for finding in findings))
    if as_json:
        click.echo(json.dumps({"status": status, "checks": [finding.to_json() for finding in findings]}, indent=1))
    else:
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            click.echo(f"{finding.state:<7}  {finding.name:<{width}}  {finding.text}")
            for item in finding.items[:_SHOWN]:
                click.echo(f"{'':<7}  {'':<{width}}     {item}")
            if len(finding.items) > _SHOWN:
                click.echo(f"{'':<7}  {'':<{width}}     and {len(finding.items) - _SHOWN} more (see --json)")
            if finding.remedy:
                click.echo(f"{'':<7}  {'':<{width}}  -> {finding.remedy}")
    context.exit(status)


def _findings(clean: bool) -> "list[Finding]":
    from cannery.runtime.products import PRODUCTS, profile
    from cannery.runtime.settings import SettingError, Settings
    from cannery.shim import sdk
    from cannery.tools.doctor import leftovers, loading, profiles, system
    from cannery.tools.doctor.findings import PROBLEM, Finding

    try:
        settings = Settings.from_environment(os.environ)
    except SettingError:
        settings = Settings()
    chosen = profile(settings.product if settings.product in PRODUCTS else Settings().product)
    found = [loading.variables(), system.compiler(), system.python_library(), system.c_library(), system.machine_form()]
    found += [system.memory_files(chosen), system.shared_memory(), system.machine_memory(chosen)]
    found += [system.address_range(settings.devices)]
    try:
        sdk.folder()
    except sdk.SdkError as error:
        found.append(Finding("engine", PROBLEM, str(error)))
    else:
        found += [loading.preload(), loading.engine()]
    return [*found, leftovers.check(clean), profiles.check(chosen)]
