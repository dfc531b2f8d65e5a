"""How streams join captures and are joined back (semantics.md 7).

Scripts are those of ``graph_tools.Script``. Sections are those of semantics.md; "documents" are the reference documents
on model running instances, "implementation" is the reference implementation where both say nothing.
"""

import pytest

from tests.graph_tools import Script, opened, scripts

SCRIPTS = scripts("""
7: a stream joins by waiting, and with it what it does
    put pin 7
    begin s
    record e s
    status s2 -> NONE
    wait s2 e
    status s2 -> ACTIVE
    async mem pin s2
    record e2 s2
    wait s e2
    end s = m
    status s2 -> NONE
    bytes mem -> 0
    execute m s3
    sync s3
    bytes mem -> 7

7: the last task of a stream that joined has to be a record
    begin s
    record e s
    wait s2 e
    record e2 s2
    wait s e2
    async mem pin s2
    end s -> 107025
    status s -> NONE
    status s2 -> NONE

7: a stream that joined and did nothing is not joined back
    begin s
    record e s
    wait s2 e
    end s -> 107025

7: a record that nobody waits for joins nothing
    begin s
    record e s
    wait s2 e
    record e2 s2
    end s -> 107025

7: an earlier record does not count when a later one is not waited for
    begin s
    record e s
    wait s2 e
    record e2 s2
    wait s e2
    record e2 s2
    end s -> 107025

7: a wait is for the record that was the latest then
    begin s
    record e s
    wait s2 e
    record e2 s2
    record e2 s2
    wait s e2
    end s = m

7: streams may join over another one
    begin s
    record e s
    wait s2 e
    record e s2
    wait s3 e
    record e3 s3
    wait s2 e3
    record e2 s2
    wait s e2
    end s = m

7: one of the last records has to be waited for by the stream of the beginning
    begin s
    record e s
    wait s2 e
    wait s3 e
    record e2 s2
    wait s3 e2
    record e3 s3
    wait s2 e3
    end s -> 107025

7: a wait of a stream for its own record joins nothing and does no harm
    begin s
    record e s
    wait s e
    end s = m
    execute m s
    sync s

7: a record made anew forks from there
    put pin 8
    begin s
    record e s
    async mem pin s
    record e s
    wait s2 e
    async mem2 mem s2
    record e2 s2
    wait s e2
    end s = m
    execute m s
    sync s
    bytes mem2 -> 8

1.9: a stream has to be of the current context to join
    begin s
    record e s
    value s2
    current ctx
    wait s2 e -> 107003
    status s2 -> NONE

implementation: a stream of another context can join
    current primary
    put pin 3
    begin s
    record e s
    current ctx
    wait s2 e
    async mem pin s2
    record e2 s2
    current primary
    wait s e2
    end s = m
    execute m s
    sync s
    bytes mem -> 3

1.9: the default stream cannot join
    begin s
    record e s
    wait null e -> 107031
    status s -> ACTIVE
    end s = m
""")


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:3"])
@pytest.mark.parametrize(("section", "title", "text"), SCRIPTS, ids=[title for _, title, _ in SCRIPTS])
def test_joins(section: str, title: str, text: str, schedule: str) -> None:
    Script(opened(schedule=schedule)).play(text)
