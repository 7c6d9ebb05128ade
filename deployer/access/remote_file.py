"""A GrowingFile on the instance, over one SSH channel: a small shell loop there answers each read.

One channel for all reads, so that following a log asks sudo once and not every second; the loop ends with its input.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from deployer.access.errors import SshError
from deployer.access.files import Piece
from deployer.access.ssh import SshSession
from deployer.access.streams import close_channel
from deployer.errors import RefusedError

if TYPE_CHECKING:
    import paramiko

#: Seconds within which the loop answers.
_ANSWER_SECONDS = 20.0

#: Reads "START LIMIT" lines, answers "START COUNT" and that many bytes, or one word. $1: the file.
_LOOP = """
while read -r start limit; do
  if [ ! -e "$1" ]; then echo missing; continue; fi
  if [ ! -r "$1" ]; then echo denied; continue; fi
  size=$(($(wc -c < "$1")))
  if [ "$start" -lt 0 ]; then start=$((size + start)); if [ "$start" -lt 0 ]; then start=0; fi; fi
  if [ "$start" -gt "$size" ]; then start=0; fi
  count=$((size - start))
  if [ "$count" -gt "$limit" ]; then count=$limit; fi
  echo "$start $count"
  if [ "$count" -gt 0 ]; then tail -c "+$((start + 1))" "$1" | head -c "$count"; fi
done
"""

#: $1: the loop, $2: the path. The agent's own prefix for paths counts here too; root owns what the agent writes.
_START = """
file="${DEPLOYER_AGENT_ROOT:-}$2"
if [ ! -r "$file" ] && command -v sudo > /dev/null && sudo -n true 2> /dev/null; then
  exec sudo -n sh -c "$1" sh "$file"
fi
exec sh -c "$1" sh "$file"
"""


class RemoteFile:
    """It owns the session it was given. Not for several threads at once."""

    def __init__(self, session: SshSession, path: str) -> None:
        self.path = path
        self._session = session
        self._channel: paramiko.Channel | None = None
        self._buffer = b""

    def read(self, start: int, limit: int) -> Piece | None:
        """See GrowingFile. Raises SshError, and RefusedError when the login may not read the file."""
        try:
            return self._ask(start, limit)
        except TimeoutError as error:
            text = f"no answer within {_ANSWER_SECONDS:.0f} s"
            raise SshError(text, reason="timeout", where=self._session.target.name) from error
        except (OSError, EOFError) as error:
            raise self._broken() from error

    def close(self) -> None:
        """End the loop and the session."""
        if self._channel is not None:
            close_channel(self._channel)
        self._session.close()

    def _ask(self, start: int, limit: int) -> Piece | None:
        channel = self._channel = self._channel or self._session.open_command(
            ["sh", "-c", _START, "sh", _LOOP, self.path]
        )
        channel.settimeout(_ANSWER_SECONDS)
        channel.sendall(f"{start} {limit}\n".encode())
        match self._line(channel).split():
            case [b"missing"]:
                return None
            case [b"denied"]:
                raise RefusedError(
                    f"{self._session.target.user} may not read {self.path}",
                    where=self._session.target.name,
                    hint="access.user needs sudo without a password, as the images' own user has it",
                )
            case [begin, count]:
                return Piece(int(begin), self._exactly(channel, int(count)))
            case words:
                raise SshError(
                    f"an answer nobody expected: {words}", reason="protocol", where=self._session.target.name
                )

    def _line(self, channel: paramiko.Channel) -> bytes:
        while b"\n" not in self._buffer:
            self._more(channel)
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _exactly(self, channel: paramiko.Channel, count: int) -> bytes:
        while len(self._buffer) < count:
            self._more(channel)
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        return data

    def _more(self, channel: paramiko.Channel) -> None:
        data = channel.recv(65536)
        if not data:
            raise EOFError
        self._buffer += data

    def _broken(self) -> SshError:
        said = b""
        if self._channel is not None:
            with contextlib.suppress(OSError):
                said = self._channel.recv_stderr(500) if self._channel.recv_stderr_ready() else b""
        text = said.decode(errors="replace").strip()
        return SshError(
            f"the connection broke{f': {text}' if text else ''}", reason="closed", where=self._session.target.name
        )
