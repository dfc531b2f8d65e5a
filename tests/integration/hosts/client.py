"""A ctypes client of the runtime that any Python 3 can run: calls from several threads and from a forked child."""

import ctypes
import os
import sys
import threading


def want(what, got, wanted):
    if got != wanted:
        sys.stderr.write("%s: %r, wanted %r\n" % (what, got, wanted))
        sys.stderr.flush()
        os._exit(1)


def main():
    acl = ctypes.CDLL(sys.argv[1])
    acl.aclrtGetSocName.restype = ctypes.c_char_p
    for name in (
        "aclrtRecordEvent",
        "aclrtSynchronizeStream",
        "aclrtDestroyStream",
        "aclrtSetCurrentContext",
        "aclrtFree",
    ):
        getattr(acl, name).argtypes = [ctypes.c_void_p] * (2 if name == "aclrtRecordEvent" else 1)
    count = ctypes.c_uint32()
    want("count", acl.aclrtGetDeviceCount(ctypes.byref(count)), 0)
    want("devices", count.value, 8)
    want("name", acl.aclrtGetSocName(), b"Ascend910B1")
    want("set", acl.aclrtSetDevice(1), 0)
    context = ctypes.c_void_p()
    want("context", acl.aclrtGetCurrentContext(ctypes.byref(context)), 0)

    def work():
        stream, event = ctypes.c_void_p(), ctypes.c_void_p()
        want("adopt", acl.aclrtSetCurrentContext(context), 0)
        want("stream", acl.aclrtCreateStream(ctypes.byref(stream)), 0)
        want("event", acl.aclrtCreateEvent(ctypes.byref(event)), 0)
        for _ in range(200):
            want("record", acl.aclrtRecordEvent(event, stream), 0)
        want("synchronize", acl.aclrtSynchronizeStream(stream), 0)
        want("destroy", acl.aclrtDestroyStream(stream), 0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pid = os.fork()
    device = ctypes.c_int32(-1)
    if pid == 0:
        want("child without context", acl.aclrtGetDevice(ctypes.byref(device)), 107002)
        want("child set", acl.aclrtSetDevice(0), 0)
        os._exit(7)
    want("child", os.waitpid(pid, 0)[1] >> 8, 7)
    want("get", acl.aclrtGetDevice(ctypes.byref(device)), 0)
    want("device", device.value, 1)
    print("fine")


main()
