"""``cannery sdk``: where the libraries and headers are."""

import click

from cannery.tools.errors import Failure


@click.command(name="sdk")
@click.option("--preload", "what", flag_value="preload", help="The library for LD_PRELOAD.")
@click.option("--lib", "what", flag_value="lib", help="The folder for -L and LD_LIBRARY_PATH.")
@click.option("--include", "what", flag_value="include", help="The folder for -I.")
def command(what: str | None) -> None:
    """Print the folder that stands for a CANN installation: include/acl/acl.h and lib64/libascendcl.so.

    \b
    Build without CANN:
      cc -I$(cannery sdk --include) app.c -L$(cannery sdk --lib) -lascendcl -o app
      cmake -DASCEND_CANN_PACKAGE_PATH=$(cannery sdk) ..
    Record without the launcher:
      LD_PRELOAD=$(cannery sdk --preload) CANNERY_TRACE=a.cann ./app

    The folder is made on first use in the user's cache; its path has no spaces and stays the same for one version.
    """
    from cannery.shim import sdk

    try:
        folder = {
            None: sdk.folder,
            "preload": sdk.preload,
            "lib": sdk.library_folder,
            "include": sdk.include_folder,
        }[what]()
    except sdk.SdkError as error:
        raise Failure(str(error)) from None
    click.echo(folder)
