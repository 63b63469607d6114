"""When this process is killed, nobody is left to end the programs that it runs. The keeper is: a shell that
waits for the end of us, which it hears by a pipe that only we hold open, whatever it was that ended us.

It knows the programs that run, and those that they left behind and that have come to us since. On Linux all
that descend from them go with them, whatever session they are in; elsewhere their process groups do."""

import os
import threading
from contextlib import suppress
from functools import cache

# Who runs is a variable each: to forget one of many costs as little as to forget the only one. A process
# chooses its own name, so what counts of its /proc/PID/stat stands behind the last bracket. All are
# stopped as they are found, and killed when nobody is left who could start another.
_KEEPER = """\
trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU
cd /
while read -r sign pid born; do
  case $sign in
    +) eval "known_${pid}_$born=";;
    -) unset "known_${pid}_$born";;
  esac
done
look() {
  line=
  while IFS= read -r part; do line=$part; done < "/proc/$1/stat" || return 1
  set -- ${line##*) }
  parent=$2 session=$4 born=${20}
}
ours=' '
for each in $(set); do
  case $each in known_*=*) each=${each#known_};; *) continue;; esac
  pid=${each%%_*} birth=${each#*_}
  if [ -r /proc/self/stat ]; then
    case $birth in
      0=*) ;;
      *) look "$pid" && [ "$born" = "${birth%%=*}" ] || continue;;
    esac
    kill -STOP "$pid"
    ours="$ours$pid "
  else
    kill -KILL "-$pid"
  fi
done
[ "$ours" = ' ' ] && exit
more=yes
while [ "$more" ]; do
  more=
  for each in /proc/[0-9]*; do
    pid=${each#/proc/}
    case $ours in *" $pid "*) continue;; esac
    look "$pid" || continue
    case $ours in *" $parent "* | *" $session "*)
      kill -STOP "$pid"
      ours="$ours$pid "
      more=yes
    esac
  done
done
kill -KILL $ours
"""


class Keeper:
    """For all that this process runs, in any thread. It is a help and no condition: where there is no shell,
    programs are run without it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe = _started()

    def keep(self, pid: int, born: int = 0) -> None:
        """From now on this one ends with us. `born`: where its number may belong to another by then, when it
        was born, as the system counts it."""
        self._tell(f"+ {pid} {born}\n")

    def forget(self, pid: int, born: int = 0) -> None:
        """It has ended, and its number means nothing any more."""
        self._tell(f"- {pid} {born}\n")

    def _tell(self, line: str) -> None:
        with self._lock, suppress(OSError):
            if self._pipe is not None:
                os.write(self._pipe, line.encode())


@cache
def keeper() -> Keeper:
    """Started with the first program."""
    return Keeper()


def _started() -> int | None:
    """The end of the pipe that is ours. In a group of its own it hears no Ctrl-C."""
    theirs, ours = os.pipe()
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    actions = [(os.POSIX_SPAWN_DUP2, theirs, 0), *nothing]
    try:
        os.posix_spawn("/bin/sh", ["sh", "-c", _KEEPER], {}, file_actions=actions, setpgroup=0)
    except OSError:
        os.close(ours)
        return None
    finally:
        os.close(theirs)
    os.set_blocking(ours, False)
    return ours
