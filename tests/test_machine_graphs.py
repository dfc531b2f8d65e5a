"""Model instances: executing, destroying, building by hand, events that cross their border.

Scripts are those of ``graph_tools.Script``. Sections are those of semantics.md; "documents" are the reference documents
on model running instances, "implementation" is the reference implementation where both say nothing.
"""

import pytest

from tests.graph_tools import Script, opened, scripts

SCRIPTS = scripts("""
7: several runs on one stream
    put pin 1
    begin s
    async mem pin s
    end s = m
    execute m s2
    execute m s2
    execute m s2
    sync s2
    bytes mem -> 1

7: runs on two streams at once
    put pin 2
    begin s
    async mem pin s
    async mem2 mem s
    end s = m
    execute m s2
    execute m s3
    execute m null
    sync-device
    bytes mem2 -> 2

7: a run comes after what is before it on its stream, and before what is behind it
    put pin 3
    begin s
    async mem2 mem s
    end s = m
    wait s old
    async mem pin s
    execute m s
    async mem3 mem2 s
    bytes mem3 -> 0
    record old s2
    sync s
    bytes mem3 -> 3

7: a run is over when its instance is
    begin s
    record e s
    wait s2 e
    async mem pin s2
    record e2 s2
    wait s e2
    end s = m
    execute m s
    record e3 s
    sync-event e3
    destroy m

7: destroying waits for runs
    put pin 4
    begin s
    async mem pin s
    end s = m
    wait s old
    execute m s
    destroy m -> waits
    record old s2
    sync s2
    ends -> 0
    bytes mem -> 4
    execute m s -> 107017

7: destroying waits ten seconds, and the instance stays
    begin s
    async mem pin s
    end s = m
    wait s old
    execute m s
    destroy m -> waits
    expire
    ends -> 107037
    execute m s2
    record old s3
    sync s
    sync s2
    destroy m

implementation: two threads destroy an instance that is running
    select 2
    begin s
    end s = m
    wait s old
    execute m s
    destroy m -> waits
    destroy m -> waits @2
    record old s2
    sync s2
    ends -> 0
    ends -> 0

7: an instance of another context
    current primary
    begin s
    end s = m
    current ctx
    execute m s2 -> 107004
    destroy m -> 107004
    current primary
    execute m s
    sync s
    destroy m

documents: copies whose memory is gone fail their run
    begin s
    async mem pin s
    async mem2 mem s
    end s = m
    free mem
    execute m s2
    sync s2 -> 507011
    sync s2
    sync s
    execute m s2
    execute m s2
    sync s2 -> 507011
    sync s2
    destroy m

documents: what is behind a failed task in an instance runs
    put pin 5
    begin s
    async mem pin s
    async mem2 pin s
    end s = m
    free mem
    execute m s2
    sync s2 -> 507011
    bytes mem2 -> 5

1.7: an event in an instance does not keep what it recorded there
    begin s
    record e s
    end s = m
    execute m s2
    sync s2
    elapsed e e -> 507000
    record e s3
    sync-event e
    execute m s2
    sync-event e

documents: streams of an instance cannot be used
    begin s
    end s = m
    streams m = inner
    sync inner
    query inner
    async mem pin inner -> 107005
    record old inner -> 107005
    wait inner old -> 107005
    drop inner -> 107005
    destroy m
    sync inner -> 107017

1.9: an instance waits outside for what was recorded last when it runs
    put pin 6
    begin s
    in s e
    async mem2 mem s
    end s = m
    wait s2 old
    async mem pin s2
    record e s2
    execute m s
    query s
    bytes mem2 -> 0
    record old s3
    sync s
    bytes mem2 -> 6

1.9: an instance that waits for what was never recorded passes
    begin s
    in s e
    end s = m
    execute m s
    sync s

1.7: an instance records for others
    put pin 7
    begin s
    async mem pin s
    out e s
    end s = m
    wait s2 old
    execute m s2
    wait s3 e
    async mem2 mem s3
    bytes mem2 -> 0
    record old s4
    sync s3
    bytes mem2 -> 7

1.7: an instance records for another one
    put pin 8
    begin s
    async mem pin s
    out e s
    end s = m
    begin s2
    in s2 e
    async mem2 mem s2
    end s2 = n
    execute m s
    execute n s2
    sync s2
    bytes mem2 -> 8
    sync-event e -> 107000

1.7: once in a capture with the flag EXTERNAL
    begin s
    out e s
    out e s -> 107000
    in s e -> 107000
    in s e2
    in s e2 -> 107000
    out e2 s -> 107000
    end s = m
    begin s
    in s e
    end s = n

1.7: outside of captures there is nothing external
    out e s -> 107029
    in s e -> 107029
    out e null -> 107029
    record e s -> 107000
    record e2 s
    begin s2
    out e2 s2 -> 107000
    in s2 e2 -> 107000
    end s2 = m

1.7: two captures use an event with the flag EXTERNAL
    begin s
    begin s2
    out e s
    in s2 e
    out e2 s2
    in s e2
    end s2 = m
    end s = n

documents: an instance is built by hand
    put pin 9
    build = m
    bind m hand 0
    async mem pin hand
    mark m hand
    built m
    bytes mem -> 0
    run m
    bytes mem -> 9
    run m 100
    execute m s
    sync s
    destroy m

documents: two streams with an event between them
    put pin 1
    build = m
    bind m hand 0
    bind m hand2 0
    async mem pin hand
    record old hand
    wait hand2 old
    async mem2 mem hand2
    mark m hand2
    built m
    run m
    bytes mem2 -> 1
    sync-event old -> 107000

documents: tasks before binding count too
    put pin 2
    async mem pin hand
    build = m
    bind m hand 0
    mark m hand
    built m
    run m
    bytes mem -> 2

documents: a stream that is not a head waits to be activated
    put pin 3
    build = m
    bind m hand 0
    bind m hand2 0x7fffffff
    async mem pin hand
    async mem2 pin hand2
    mark m hand
    built m
    run m
    bytes mem -> 3
    bytes mem2 -> 0

documents: an unbound stream takes its tasks with it
    put pin 4
    build = m
    bind m hand 0
    bind m hand2 0
    async mem pin hand
    async mem2 pin hand2
    mark m hand
    built m
    unbind m hand2
    run m
    bytes mem -> 4
    bytes mem2 -> 0
    build = n
    bind n hand2 0
    mark n hand2
    built n
    run n
    bytes mem2 -> 4

documents: streams outlive what they were bound to
    build = m
    bind m hand 0
    drop hand -> 107005
    destroy m
    build = n
    bind n hand 0
    unbind n hand
    drop hand

7: executing has a limit
    build = m
    bind m hand 0
    mark m hand
    built m
    wait null old
    run m 5 -> waits
    expire
    ends -> 507046
    record old s
    sync null

documents: an instance is stopped
    select 2
    put pin 5
    build = m
    bind m hand 0
    wait hand old
    async mem pin hand
    mark m hand
    built m
    run m -> waits
    abort m @2
    ends -> 507023
    bytes mem -> 0
    record old s
    sync s
    run m
    bytes mem -> 5

5: a stream that executes is aborted
    put pin 6
    begin s
    wait s ext
    async mem pin s
    end s = m
    execute m s2
    execute m s2
    stream-abort s2
    sync s2 -> 107023
    record ext s3
    sync s3
    bytes mem -> 0
    execute m s2
    sync s2
    bytes mem -> 6
    destroy m

5: a run that waits is stopped, and what is behind it runs
    put pin 7
    begin s
    wait s ext
    async mem pin s
    end s = m
    execute m s2
    async mem2 pin s2
    pace 200
    stream-stop s2
    sync s2 -> 107023
    bytes mem -> 0
    bytes mem2 -> 7
    destroy m

1.9: a wait in an instance has its limit
    begin s
    wait-for s ext 2
    end s = m
    execute m s2
    pace 100
    query s2
    pace 2000
    sync s2 -> 507011
    destroy m

implementation: an end on a stream that is not a head never comes
    build = m
    bind m hand 0x7fffffff
    mark m hand
    built m
    run m 5 -> waits
    expire
    ends -> 507046
    abort m
    sync null -> 507023
    destroy m
""")


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:3"])
@pytest.mark.parametrize(("section", "title", "text"), SCRIPTS, ids=[title for _, title, _ in SCRIPTS])
def test_graphs(section: str, title: str, text: str, schedule: str) -> None:
    Script(opened(schedule=schedule)).play(text)
