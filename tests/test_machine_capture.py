"""Captures: what they keep, how they end and break, task groups.

Scripts are those of ``graph_tools.Script``. Sections are those of semantics.md; "documents" are the reference documents
on model running instances, "implementation" is the reference implementation where both say nothing.
"""

import pytest

from tests.graph_tools import Script, opened, scripts

SCRIPTS = scripts("""
7: an empty capture
    begin s
    status s -> ACTIVE
    end s = m
    status s -> NONE
    execute m s
    sync s

7: nothing runs in capture
    put pin 1
    put mem 2
    begin s
    async mem pin s
    pace 50
    bytes mem -> 2
    sync-device -> 107027
    end s = m
    sync s
    pace 50
    bytes mem -> 2

7: copies read what is there when they run
    begin s
    async mem1 pin s
    async mem2 mem1 s
    end s = m
    put pin 3
    execute m s
    sync s
    bytes mem2 -> 3
    put pin 4
    execute m s0
    sync s0
    bytes mem2 -> 4

7: a capture can begin again, into another instance
    put pin 5
    begin s
    async mem1 pin s
    end s = m
    begin s
    async mem2 pin s
    end s = n
    execute n s
    sync s
    bytes mem1 -> 0
    bytes mem2 -> 5
    execute m s
    sync s
    bytes mem1 -> 5

7: work queued before a capture goes on beside it
    put pin 6
    wait s old
    async mem pin s
    begin s
    bytes mem -> 0
    record old s1
    sync s1
    pace 200
    bytes mem -> 6
    end s = m

7: the end on a stream that joined is no end
    begin s
    record e s
    wait s2 e
    end s2 -> 107036
    status s -> ACTIVE
    record e2 s2
    wait s e2
    end s = m

7: another thread ends a capture of GLOBAL
    select 2
    begin s GLOBAL
    end s -> 107038 @2
    status s -> NONE
    end s -> 107029
    memset mem

7: another thread ends a capture of THREAD_LOCAL
    select 2
    begin s THREAD_LOCAL
    end s -> 107038 @2
    status s -> NONE
    end s -> 107029
    memset mem

7: another thread ends a capture of RELAXED
    select 2
    begin s RELAXED
    end s -> 0 @2
    status s -> NONE
    end s -> 107029
    memset mem

7: a second end finds nothing
    begin s
    end s = m
    end s -> 107029

1.7: two captures mix by a record
    begin s
    begin s2
    record e s
    record e s2 -> 107032
    status s -> ACTIVE
    status s2 -> ACTIVE
    end s -> 507903
    end s2 -> 507903
    status s -> NONE

1.9: two captures mix by a wait
    begin s
    begin s2
    record e s
    wait s2 e -> 107032
    end s -> 507903
    end s2 -> 507903

implementation: nobody joins a capture that broke
    begin s
    begin s2
    record e s
    record e s2 -> 107032
    wait s3 e -> 507000
    status s3 -> NONE
    end s -> 507903

1.7: refusals of events leave a capture as it is
    record e s3
    begin s
    record old s -> 207000
    record default s -> 207000
    wait s old -> 207000
    wait s e -> 107024
    status s -> ACTIVE
    end s = m

observed: refusals of calls that would wait leave a capture as it is
    begin s GLOBAL
    record e s
    sync s -> 107027
    query s -> 107027
    drop s -> 107027
    sync-event e -> 107028
    query-event e -> 107028
    memset mem -> 107030
    async mem page s -> 107000
    async mem page s2 -> 107041
    end s = m

7: an event is as others again when its capture ended
    begin s
    record e s
    query-event e -> 107028
    end s = m
    query-event e
    sync-event e
    record e s
    wait s2 e
    sync s2

7: an event that was destroyed in capture
    put pin 9
    begin s
    record e s
    wait s2 e
    forget e
    async mem pin s2
    record e2 s2
    wait s e2
    forget e2
    end s = m
    execute m s
    sync s
    bytes mem -> 9

7: what an event recorded before does not end with a capture
    wait s3 old
    record e s3
    begin s
    record e s
    end s = m
    elapsed e e -> 107006
    query-event e
    record old s2
    sync s3
    elapsed e e

1.9: a wait for an event that was never recorded passes
    begin s
    wait s e
    end s = m
    execute m s
    sync s

1.7: an event that nothing can wait for is recorded without effect
    begin s
    record progress s
    query-event progress
    wait s2 progress -> 207000
    end s = m

7: a capture of another context
    current ctx
    begin s
    memset mem
    end s = m
    begin s2 GLOBAL
    memset mem -> 107030
    current ctx2
    memset mem
    current ctx
    end s2 = n

documents: an empty group
    begin s
    group s
    ungroup s = g
    end s = m
    execute m s
    sync s

documents: only kernels can be in a group
    begin s
    group s
    async mem pin s -> 507009
    ungroup s = g
    async mem pin s
    end s = m

implementation: a record that a group does not take breaks the capture
    begin s
    group s
    record e s -> 507009
    ungroup s -> 507903
    end s -> 507903

0.1: a capture cannot end with an open group
    begin s
    group s
    end s -> 107033
    ungroup s -> 107029

0.1: a group is broken by what goes to another stream of the capture
    begin s
    record e s
    wait s2 e
    group s
    async mem pin s2 -> 107034
    ungroup s -> 107034
    group s
    ungroup s -> 107034
    end s -> 507903

implementation: a group of a capture that broke has no handle
    begin s
    begin s2
    record e s
    group s
    record e s2 -> 107032
    ungroup s -> 507903
    ungroup s -> 107033
    end s -> 507903

documents: a group is updated
    begin s
    group s
    ungroup s = g
    end s = m
    update s2 g
    async mem pin s2 -> 507009
    update s2 g -> 107033
    update s3 g -> 107033
    begin s2 -> 107033
    updated s2
    updated s2 -> 107033
    begin s2
    end s2 = n

documents: a group goes with its instance
    begin s
    group s
    ungroup s = g
    end s = m
    destroy m
    update s g -> 107017
""")


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:3"])
@pytest.mark.parametrize(("section", "title", "text"), SCRIPTS, ids=[title for _, title, _ in SCRIPTS])
def test_captures(section: str, title: str, text: str, schedule: str) -> None:
    Script(opened(schedule=schedule)).play(text)
