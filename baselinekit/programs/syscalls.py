"""Which calls to the system generated code may not make, in the language of the kernel's filters (seccomp, of
Linux): what no function needs. Memory that no limit counts, a look into other processes, new namespaces, and
the doors by which kernels were broken into."""

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""What the kernel calls a machine, and the column of the table."""

_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "setpriority": (141, 140),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "personality": (135, 92),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
_REFUSED_WITHOUT_WALLS: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None),
    "vfork": (58, None),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "socket": (41, 198),
}
"""Behind walls a process may be started: it ends with the rest. It may signal whom it sees there, and open a
socket that leads nowhere."""

_CLONE, _CLONE3, _PRLIMIT = (56, 220), 435, (302, 261)
_NEW_NAMESPACES, _THREAD = 0x7E020000, 0x10000
_OTHER_NUMBERS = 0x40000000  # x86_64 has a second set of them

_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST = 0, 4, 16  # where it stands in what the filter is shown
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NOT_PERMITTED, _NOT_THERE = 0x50001, 0x50026


def refusing(machine: str, walled: bool) -> bytes:
    """The filter for a machine; nothing where its numbers are not known."""
    if machine not in _MACHINES:
        return b""
    known_as, column = _MACHINES[machine]
    steps = [_step(_LOAD, _MACHINE), _step(_EQUAL, known_as, 1, 0), _step(_GIVE, _KILL)]
    steps += [_step(_LOAD, _NUMBER), _step(_AT_LEAST, _OTHER_NUMBERS, 0, 1), _step(_GIVE, _NOT_THERE)]
    steps += [_step(_EQUAL, _CLONE3, 0, 1), _step(_GIVE, _NOT_THERE)]  # libraries know an older way
    for numbers in (_REFUSED if walled else _REFUSED | _REFUSED_WITHOUT_WALLS).values():
        number = numbers[column]
        if number is not None:
            steps += [_step(_EQUAL, number, 0, 1), _step(_GIVE, _NOT_PERMITTED)]
    steps += [_step(_EQUAL, _PRLIMIT[column], 0, 4), _step(_LOAD, _FIRST)]  # its own limits, nobody else's
    steps += [_step(_EQUAL, 0, 1, 0), _step(_GIVE, _NOT_PERMITTED), _step(_GIVE, _ALLOW)]
    steps += [_step(_EQUAL, _CLONE[column], 0, 5), _step(_LOAD, _FIRST)]
    steps += [_step(_ANY_OF, _NEW_NAMESPACES, 0, 1), _step(_GIVE, _NOT_PERMITTED)]
    steps += [_step(_ANY_OF, _THREAD, 1, 0), _step(_GIVE, _ALLOW if walled else _NOT_PERMITTED)]
    return b"".join([*steps, _step(_GIVE, _ALLOW)])


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return code.to_bytes(2, "little") + bytes((yes, no)) + value.to_bytes(4, "little")
