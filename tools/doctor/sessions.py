"""What processes of sessions share, and what sessions left whose processes are gone (docs/sessions.md)."""

import os
from collections.abc import Mapping
from pathlib import Path

from cannery.shim import commons, members
from cannery.tools.doctor.findings import NOTE, OK, PROBLEM, Finding


def check(clean: bool, environment: Mapping[str, str]) -> Finding:
    """Report the sessions there are; with ``clean`` remove those without a living process."""
    try:
        runtime = commons.open_runtime(environment)
    except OSError as error:
        text = f"processes cannot share anything: {error.strerror or error}"
        return Finding("sessions", PROBLEM, text, f"set {commons.VARIABLE} to a folder of your own, mode 0700")
    try:
        living = len(commons.sessions(runtime))
        dead = members.left_over(runtime)
        living -= len(dead)
        items = tuple(f"{found.session}: none of its processes lives" for found in dead)
        place = Path(f"/proc/self/fd/{runtime}").readlink()
        if not dead:
            return Finding("sessions", OK, f"{place}, {living} in use, nothing left over")
        if not clean:
            text = f"{place}, {living} in use, {len(dead)} left over"
            return Finding("sessions", NOTE, text, "cannery doctor --clean removes them", items)
        failed = [found.session for found in dead if not members.remove_dead(runtime, found.folder)]
    finally:
        os.close(runtime)
    if failed:
        return Finding("sessions", PROBLEM, f"cannot remove {', '.join(failed)} in {place}", "remove it by hand")
    return Finding("sessions", OK, f"{place}, {living} in use, {len(items)} removed", "", items)
