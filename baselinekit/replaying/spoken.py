"""Requests and answers that wire.py leaves to h11. Loaded with the first of them: nearly all are plain, and
wire.py handles those itself."""

from collections.abc import Callable, Iterator

import h11

from baselinekit.model.recipes import Request
from baselinekit.replaying import answer
from baselinekit.replaying.answer import CONNECTION_LOST, SPEAKS_TLS, BrokenAnswer, Headers

_TOO_LARGE = 431
_TLS_ALERT = b"\x15\x03"
"""How a server begins that expects TLS and got a plain request."""


class H11Exchanges:
    """The exchanges on one connection, one after the other. `read`: returns the next bytes; `received`: the
    number of bytes since the exchange began."""

    def __init__(self, read: Callable[[], bytes], received: Callable[[], int]):
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=answer.LARGEST_HEAD)
        self._read, self._received = read, received
        self._ended = False

    def begin(self, request: Request, target: str, headers: Headers) -> bytes:
        """Return the bytes before the body. The state then knows the request that the answer belongs to."""
        out = self._state.send(h11.Request(method=request.method, target=target, headers=headers))
        if request.content:
            self._state.send(h11.Data(data=request.content))
        self._state.send(h11.EndOfMessage())
        return out

    def answer(self, request: Request, early_data: bytes | None) -> tuple[answer.Answer, bool]:
        """Return the answer, and whether the connection can be reused. `early_data`: what was read
        already."""
        try:
            if early_data is not None:
                self._give(early_data)
            head = self._head()
            received = head.headers.raw_items()
            answer.check_head(head.reason, received)
            body = answer.whole_body(request, head.status_code, received, self._chunks())
            surplus, _ = self._state.trailing_data
            if self._state.their_state is h11.SEND_BODY:  # a stream that was not read to its end
                surplus = b""
            if surplus and not answer.has_no_body(request, head.status_code):
                raise answer.surplus_error()
            is_reusable = not surplus and (self._state.our_state, self._state.their_state) == (
                h11.DONE,
                h11.DONE,
            )
            if is_reusable:
                self._state.start_next_cycle()
        except h11.RemoteProtocolError as error:
            # as a client would say it, and without the bytes that h11 quotes
            reason = str(error).partition(": bytearray")[0].replace("request line", "status line")
            raise BrokenAnswer(
                CONNECTION_LOST if self._ended else f"the answer is not HTTP: {reason}"
            ) from None
        return (head.status_code, received, body), is_reusable

    def _head(self) -> h11.Response:
        interim = answer.InterimCounter()
        while True:
            try:
                event = self._next()
            except h11.RemoteProtocolError as error:
                raise answer.head_too_large() if error.error_status_hint == _TOO_LARGE else error from None
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise BrokenAnswer("the server requires another protocol")
            interim.add()

    def _chunks(self) -> Iterator[bytes]:
        while isinstance(event := self._next(), h11.Data):
            yield event.data

    def _next(self) -> object:
        while True:
            event = self._state.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._give(self._read())

    def _give(self, data: bytes) -> None:
        self._ended = not data
        if self._ended and self._state.their_state is h11.SEND_RESPONSE:
            raise BrokenAnswer(
                CONNECTION_LOST if self._received() else "the connection was closed without an answer"
            )
        if data.startswith(_TLS_ALERT) and self._state.their_state is h11.SEND_RESPONSE:
            raise BrokenAnswer(SPEAKS_TLS)
        self._state.receive_data(data)
