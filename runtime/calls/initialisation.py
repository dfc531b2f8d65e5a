"""aclInit and aclFinalize (semantics.md 4), and the configuration file: who gets messages, and the default device."""

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_FAILURE,
    ACL_ERROR_INVALID_FILE,
    ACL_ERROR_PARSE_FILE,
    ACL_ERROR_REPEAT_FINALIZE,
    ACL_ERROR_REPEAT_INITIALIZE,
    Refused,
    invalid,
)
from cannery.runtime.objects import MESSAGES_KEPT, Device, Thread
from cannery.runtime.ports import Unknown

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# Limits of the runtime's parser.
LARGEST_FILE: Final = 10 << 20
DEEPEST: Final = 10


@call("aclInit")
def init(machine: "Machine", thread: Thread, path: bytes | None) -> int:
    process = machine.process
    if process.references:
        process.references += 1
        raise _acl(ACL_ERROR_REPEAT_INITIALIZE, "initialised already; the reference count is {}", process.references)
    content = b""
    if path:
        found = machine.port.file(path)
        if found is None:
            raise _acl(ACL_ERROR_INVALID_FILE, "the file {} cannot be read; pass another, or null", _text(path))
        content = b"" if isinstance(found, Unknown) else found
    if process.configuration is not None and content != process.configuration:
        raise invalid("the configuration differs from that of the first aclInit; a process has to keep to one")
    shared, default = _configuration(machine, path or b"", content)
    process.references = 1
    process.finalised = False
    process.configuration = content
    process.default_device = default
    if shared:
        process.messages = process.messages or deque(maxlen=MESSAGES_KEPT)
    return 0


@call("aclFinalize")
def finalize(machine: "Machine", thread: Thread) -> int:
    """Whatever the count is."""
    if machine.process.finalised:
        raise _finalised()
    _finalize(machine)
    return 0


@call("aclFinalizeReference")
def finalize_reference(machine: "Machine", thread: Thread, out: int) -> Any:
    """``refCount`` may be null, and tells what is left, also when the call fails."""
    process = machine.process
    number = 0
    if process.references > 1:
        process.references -= 1
    elif process.references:
        _finalize(machine)
    else:
        number = machine.refuse(thread, "aclFinalizeReference", _finalised())
    return number, process.references if out else None


def _finalize(machine: "Machine") -> None:
    process = machine.process
    process.finalised = True
    process.references = 0
    process.default_device = None


def _finalised() -> Refused:
    return _acl(ACL_ERROR_REPEAT_FINALIZE, "already finalised; call aclFinalize once after each aclInit")


def _configuration(machine: "Machine", path: bytes, content: bytes) -> tuple[bool, Device | None]:
    """Whether messages are shared by all threads, and the default device."""
    if not content:
        return False, None
    import json  # only programs with a configuration need it

    if len(content) > LARGEST_FILE:
        raise _acl(ACL_ERROR_INVALID_FILE, "the file {} has more than {} bytes", _text(path), LARGEST_FILE)
    if _depth(content, b"{", b"}") > DEEPEST or _depth(content, b"[", b"]") > DEEPEST:
        raise _acl(ACL_ERROR_PARSE_FILE, "the file {} nests braces or brackets deeper than {}", _text(path), DEEPEST)
    try:
        configuration = json.loads(content)
    except ValueError as error:
        raise _acl(ACL_ERROR_PARSE_FILE, "the file {} is not valid JSON: {}", _text(path), error) from None
    if not isinstance(configuration, dict):
        return False, None
    mode = configuration.get("err_msg_mode", "0")
    if mode not in ("0", "1"):
        raise invalid('err_msg_mode in the file {} is {!r}; write "0" (thread) or "1" (process)', _text(path), mode)
    return mode == "1", _default_device(machine, path, configuration)


def _default_device(machine: "Machine", path: bytes, configuration: dict[str, Any]) -> Device | None:
    section = configuration.get("defaultDevice")
    if not isinstance(section, dict) or "default_device" not in section:
        return None
    text = section["default_device"]
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or (len(text) > 1 and text[0] == "0"):
        raise _acl(
            ACL_ERROR_FAILURE,
            'defaultDevice.default_device in the file {} is {!r}; write the id of a device in quotes, such as "0"',
            _text(path), text,
        )  # fmt: skip
    return device_named(machine, int(text))


def _depth(content: bytes, opening: bytes, closing: bytes) -> int:
    """How deep brackets nest, those in strings included, as the runtime counts."""
    depth = deepest = 0
    for byte in content:
        if byte == opening[0]:
            depth += 1
            deepest = max(deepest, depth)
        elif byte == closing[0]:
            depth -= 1
    return deepest


def _acl(number: int, text: str, *values: object) -> Refused:
    return Refused(number, text, *values, remembered=False)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "replace")
