"""``cannery run``: start a program with the shim in front of the runtime library, and finish its trace."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from cannery.tools import launch, options
from cannery.tools.errors import Failure

if TYPE_CHECKING:
    from cannery.tools.recording import Recording

_HANDED_ON: Final = "CANNERY_LAUNCH"  # "session:trace" of the run that started this process, if one did


@click.command(name="run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("-o", "--output", "trace", type=click.Path(), metavar="TRACE",
              help="Folder to record into. [default: PROGRAM.cann, or SCRIPT.cann for a script; PROGRAM-2.cann, ... if"
              " that exists]")
@click.option("--force", is_flag=True, default=None, help="Replace an existing trace.")
@click.option("--record/--no-record", default=None, help="Record, or only simulate.")
@options.settings
@click.option("--payload", type=options.OneOf("input", "full", "hash", "none"), envvar="CANNERY_PAYLOAD",
              help="Bytes to keep: those the program gives the device (and hashes of results), all, only hashes, or"
              " only sizes. [default: input]")
@click.option("--payload-limit", type=options.Size(), envvar="CANNERY_PAYLOAD_LIMIT", metavar="SIZE",
              help="Keep only the hash of anything longer, as in 64M.")
@options.kernels("Python file that says what kernels compute. May be repeated. [default: CANNERY_KERNELS, and the"
                 " models of installed packages]")
@click.option("--engine", type=options.OneOf("private", "inline", "host"), envvar="CANNERY_ENGINE",
              help="Where the engine's Python lives; change it only where 'private' cannot be loaded.")
@click.option("--session", metavar="NAME", help="Join, or begin, the session of that name: its programs share devices"
              " and trace. [default: a session of its own]")
@click.argument("command_line", nargs=-1, required=True, metavar="-- PROGRAM [ARGUMENT]...", type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, /, trace: str | None, force: bool | None, record: bool | None, session: str | None,
            kernels: tuple[str, ...], command_line: tuple[str, ...], **chosen: Any) -> None:  # fmt: skip
    """Run a program without an NPU, and record every runtime call it and its children make.

    \b
    Examples:
      cannery run -o a.cann -- ./app args
      cannery run --product 310P --devices 2 -- python serve.py
      cannery run --schedule late --no-record -- ./app    (shows missing synchronisation)
      cannery run --kernels models.py -- ./app            (docs/kernels.md says what to write there)

    Options are also variables: --product 310P is CANNERY_PRODUCT=310P, -o is CANNERY_TRACE.

    The exit status is the program's own, 128 + N if signal N ended it, 127 if it was not found, 126 if it cannot be
    executed. If Cannery cannot do what was asked, the program is not started and the status is 2.
    """
    from cannery.runtime.settings import SettingError, Settings
    from cannery.runtime.variables import check_session, misspelt, switched

    environment = dict(os.environ)
    inherited = environment.pop(_HANDED_ON, None)
    if inherited is not None:  # a run inside a run is a session of its own, with a trace of its own
        _forget(environment, *inherited.split(":", 1))
    environment |= options.variables(chosen)
    try:
        settings = Settings.from_environment(environment)
        record = switched(environment, "CANNERY_RECORD", True) if record is None else record
        force = switched(environment, "CANNERY_FORCE", False) if force is None else force
        if session is not None:
            check_session(session, "--session")
        elif environment.get("CANNERY_SESSION"):
            check_session(environment["CANNERY_SESSION"], "CANNERY_SESSION")
    except SettingError as error:
        raise Failure(str(error)) from None
    program = launch.find_program(command_line[0], environment)
    for text in misspelt(environment):
        click.echo(f"cannery: {text}; it has no effect", err=True)
    name = session or environment.get("CANNERY_SESSION") or os.urandom(8).hex()
    recording = None
    if record:
        from cannery.tools.recording import Recording

        path = trace or environment.get("CANNERY_TRACE")
        recording = Recording.begin(path, launch.script_name(command_line), name, force=force, join=session is not None)
    _prepare(environment, name, recording)
    if settings.clock == "virtual" and not launch.fix_addresses():
        click.echo("cannery: address randomisation cannot be switched off here; host addresses will differ", err=True)
    pid, status = launch.run(program, list(command_line), environment, recording.tick if recording else None)
    code = os.waitstatus_to_exitcode(status)
    if recording is not None:
        line = recording.finish(pid, status)
        if line.startswith("no runtime call"):
            from cannery.tools.elf import obstacle

            reason = obstacle(program)
            line += f" ({command_line[0]}: {reason})" if reason else ""
        click.echo(f"cannery: {line}", err=True)
    context.exit(code if code >= 0 else 128 - code)


def _check_models(environment: dict[str, str], kernels: tuple[str, ...]) -> None:
    """Load the kernel models once here, so that the program is not started with wrong ones."""
    if kernels:
        environment["CANNERY_KERNELS"] = os.pathsep.join(str(Path(path).absolute()) for path in kernels)
    options.load_models([path for path in environment.get("CANNERY_KERNELS", "").split(os.pathsep) if path], True)


def _forget(environment: dict[str, str], session: str, trace: str = "") -> None:
    """Take out what the outer run handed on to its own program; what was set since then stays."""
    for variable, value in (("CANNERY_SESSION", session), ("CANNERY_TRACE", trace)):
        if environment.get(variable) == value:
            del environment[variable]


def _prepare(environment: dict[str, str], session: str, recording: "Recording | None") -> None:
    """Put what the shim and the program's children need into the environment."""
    from cannery.shim import sdk

    try:
        environment["LD_PRELOAD"] = sdk.preloads(environment.get("LD_PRELOAD", ""))
        environment["LD_LIBRARY_PATH"] = sdk.search_path(environment.get("LD_LIBRARY_PATH", ""))
    except sdk.SdkError as error:
        raise Failure(str(error)) from None
    environment["CANNERY_SESSION"] = session
    if recording is None:
        environment["CANNERY_RECORD"] = "0"
        environment.pop("CANNERY_TRACE", None)
    else:
        environment["CANNERY_RECORD"] = "1"
        environment["CANNERY_TRACE"] = str(recording.path)
    environment[_HANDED_ON] = f"{session}:{environment.get('CANNERY_TRACE', '')}"
