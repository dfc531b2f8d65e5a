"""Runs a program under Frida and writes what its hooks send: ``python frida_host.py TRACE PROGRAM [ARG ...]``.

The environment variable below names the functions to hook, as ``name:parameters`` with commas. A program of its own, so
that neither Frida's threads nor its memory are the benchmark's.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, Final

HOOKS: Final = "FRIDA_HOST_HOOKS"
_BATCH: Final = 1024

_SCRIPT: Final = """
let calls = [];
function flush() { if (calls.length > 0) { send(calls); calls = []; } }
for (const [name, count] of HOOKS) {
  const where = Module.findGlobalExportByName(name);
  if (where === null) continue;
  Interceptor.attach(where, {
    onEnter(args) {
      const call = [name, this.threadId, Date.now()];
      for (let i = 0; i < count; i++) call.push(args[i].toString());
      this.call = call;
    },
    onLeave(result) {
      this.call.push(result.toInt32());
      calls.push(this.call);
      if (calls.length >= BATCH) flush();
    }
  });
}
Interceptor.attach(Module.findGlobalExportByName('exit'), {
  onEnter() { flush(); send('end'); recv('go', () => {}).wait(); }
});
"""


def main(trace: Path, command: list[str | bytes]) -> int:
    import frida  # type: ignore[import-not-found,import-untyped,unused-ignore]

    hooks = [hook.split(":") for hook in os.environ.pop(HOOKS).split(",")]
    named = json.dumps([[name, int(count)] for name, count in hooks])
    ended = threading.Event()
    failures: list[str] = []
    process = frida.spawn(command, env=dict(os.environ), stdio="inherit")
    session = frida.attach(process)
    session.on("detached", lambda *_: ended.set())
    script = session.create_script(_SCRIPT.replace("HOOKS", named).replace("BATCH", str(_BATCH)))
    with trace.open("w") as file:

        def receive(message: Any, _data: Any) -> None:
            if message["type"] != "send":
                failures.append(str(message))
            elif message["payload"] == "end":
                script.post({"type": "go"})
            else:
                file.write(json.dumps(message["payload"]) + "\n")

        script.on("message", receive)
        script.load()
        frida.resume(process)
        ended.wait()
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [*sys.argv[2:]]))
