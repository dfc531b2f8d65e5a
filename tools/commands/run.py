"""``cannery run``: start a program with the shim in front of the runtime library, and finish its trace."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from cannery.tools import launch, options
from cannery.tools.errors import Failure
from cannery.tools.until import Until

if TYPE_CHECKING:
    from cannery.tools.recording import Recording

_HANDED_ON: Final = "CANNERY_LAUNCH"  # "session:trace" of the run that started this process, if one did


@click.command(name="run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    "trace",
    type=options.Target(),
    metavar="TRACE",
    help="Folder to record into. [default: PROGRAM.cann, or SCRIPT.cann for a script; PROGRAM-2.cann, ... if"
    " that exists]",
)
@click.option("--force", is_flag=True, default=None, help="Replace an existing trace.")
@click.option("--record/--no-record", default=None, help="Record, or only simulate.")
@options.settings
@click.option(
    "--payload",
    type=options.Payload(),
    envvar="CANNERY_PAYLOAD",
    metavar="POLICY",
    help="Bytes to keep: 'input', those the program gives the device (and hashes of results), 'full', all,"
    " 'hash', only hashes, 'none', only sizes. Rules by function and size may follow, as in"
    " full,aclrtMemcpyAsync=hash,>1M=none. [default: input]",
)
@click.option(
    "--payload-limit",
    type=options.Size(),
    envvar="CANNERY_PAYLOAD_LIMIT",
    metavar="SIZE",
    help="Keep only the hash of anything longer, as in 64M.",
)
@click.option(
    "--calls",
    type=options.Selection(),
    envvar="CANNERY_CALLS",
    metavar="SET",
    help="Record only these calls, by number or function, as in 0-9999 or aclrtMemcpy*. Such a trace can be"
    " read, and replayed up to the first call that is missing. [default: all]",
)
@click.option(
    "--keep",
    type=options.Length(),
    envvar="CANNERY_KEEP",
    metavar="LENGTH",
    help="Keep only the end of the trace: the last calls (100000) or the last while (500ms, 30s, 5min, 1h) of each"
    " process. The disk use stays bounded, however long the program runs. [default: all]",
)
@click.option(
    "--until-error",
    multiple=True,
    type=options.Whole(1, (1 << 31) - 1),
    metavar="NUMBER",
    help="With --keep: end the recording when a call returns this error. May be repeated.",
)
@click.option(
    "--until-call",
    multiple=True,
    type=options.Functions(),
    metavar="FUNCTION",
    help="With --keep: end the recording with the first call of this function, or pattern. May be repeated.",
)
@click.option(
    "--until-signal",
    multiple=True,
    type=options.OneOf("USR1", "USR2"),
    help="With --keep: end the recording when 'cannery run' gets this signal, which is then not passed on.",
)
@options.kernels(
    "Python file that says what kernels compute. May be repeated. [default: CANNERY_KERNELS, and the"
    " models of installed packages]"
)
@click.option(
    "--engine",
    type=options.OneOf("private", "inline", "host"),
    envvar="CANNERY_ENGINE",
    help="Where the engine's Python lives; change it only where 'private' cannot be loaded.",
)
@click.option(
    "--session",
    metavar="NAME",
    help="Join, or begin, the session of that name: its programs share devices"
    " and trace. [default: a session of its own]",
)
@click.argument("command_line", nargs=-1, required=True, metavar="-- PROGRAM [ARGUMENT]...", type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, /, trace: str | None, force: bool | None, record: bool | None, session: str | None,
            kernels: tuple[str, ...], until_error: tuple[int, ...], until_call: tuple[str, ...],
            until_signal: tuple[str, ...], command_line: tuple[str, ...], **chosen: Any) -> None:  # fmt: skip
    """Run a program without an NPU, and record every runtime call it and its children make.

    \b
    Examples:
      cannery run -o a.cann -- ./app args
      cannery run --product 310P --devices 2 -- python serve.py
      cannery run --schedule late --no-record -- ./app    (shows missing synchronisation)
      cannery run --kernels models.py -- ./app            (docs/kernels.md says what to write there)
      cannery run --keep 100000 --until-error 507899 -- ./app   (the last calls before that error)

    Options are also variables: --product 310P is CANNERY_PRODUCT=310P, -o is CANNERY_TRACE.

    The exit status is the program's own, 128 + N if signal N ended it, 127 if it was not found, 126 if it cannot be
    executed. If Cannery cannot do what was asked, the program is not started and the status is 2.
    """
    if chosen["keep"]:
        from cannery.shim.compiled import prefer_compiled

        prefer_compiled()
    from cannery.runtime.settings import SettingError, Settings
    from cannery.runtime.variables import check_session, misspelt, switched, without_empty

    environment = without_empty(os.environ)
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
    until = Until(until_error, until_call, until_signal)
    until.check(chosen, record, session)
    program = launch.find_program(command_line[0], environment)
    _check_models(environment, kernels)
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
    signals = until.begin(recording, chosen["keep"]) if recording is not None else {}
    tick = recording.tick if recording is not None else None
    pid, status = launch.run(program, list(command_line), environment, tick, signals)
    code = os.waitstatus_to_exitcode(status)
    _leave(environment, name)
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


def _leave(environment: dict[str, str], session: str) -> None:
    """Remove what the session's processes shared, unless one of them still runs."""
    from cannery.shim import commons, members

    try:
        runtime = commons.open_runtime(environment, make=False)
    except OSError:
        return
    try:
        members.remove_dead(runtime, commons.session_name(session))
    finally:
        os.close(runtime)


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
