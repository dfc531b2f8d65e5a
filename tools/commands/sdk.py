"""``cannery sdk``: where the libraries and headers are."""

import os

import click

from cannery.tools.errors import Failure


@click.command(name="sdk")
@click.option("--cflags", "what", flag_value="cflags", help="Flags for a compiler.")
@click.option("--libs", "what", flag_value="libs", help="Flags for a linker.")
@click.option("--pkg-config", "what", flag_value="pkg-config", help="The folder for PKG_CONFIG_PATH (ascendcl.pc).")
@click.option("--include", "what", flag_value="include", help="The folder for -I.")
@click.option("--lib", "what", flag_value="lib", help="The folder for -L, and for LD_LIBRARY_PATH without CANN.")
@click.option("--preload", "what", flag_value="preload", help="The library for LD_PRELOAD.")
@click.option(
    "--library-path",
    "what",
    flag_value="library-path",
    help="LD_LIBRARY_PATH as 'run' sets it: the present one between Cannery's folders.",
)
def command(what: str | None) -> None:  # fmt: skip
    """Print the folder that stands for a CANN installation: include/acl/acl.h and lib64/libascendcl.so.

    \b
    Build without CANN:
      cc $(cannery sdk --cflags) app.c $(cannery sdk --libs) -o app
      cmake -DASCEND_CANN_PACKAGE_PATH=$(cannery sdk) ..
      . $(cannery sdk)/set_env.sh                       (for builds that ask for ASCEND_HOME_PATH)
    Record without the launcher:
      LD_PRELOAD=$(cannery sdk --preload) CANNERY_TRACE=a.cann ./app

    The folder is made on first use in the user's cache; its path has no spaces and stays the same for one installation.
    """
    from cannery.shim import sdk

    try:
        match what:
            case "cflags":
                found = sdk.compile_flags()
            case "libs":
                found = sdk.link_flags()
            case "pkg-config":
                found = str(sdk.pkg_config_folder())
            case "include":
                found = str(sdk.include_folder())
            case "lib":
                found = str(sdk.library_folder())
            case "preload":
                found = str(sdk.preload())
            case "library-path":
                found = sdk.search_path(os.environ.get("LD_LIBRARY_PATH", ""))
            case _:
                found = str(sdk.include_folder().parent)
    except sdk.SdkError as error:
        raise Failure(str(error)) from None
    click.echo(found)
