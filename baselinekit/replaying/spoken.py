"""Requests and answers as h11 writes and reads them, where wire.py leaves them to it: loaded with the first,
for nearly all are plain."""

from collections.abc import Callable, Iterator

import h11

from baselinekit.model.recipes import Request
from baselinekit.replaying import answer
from baselinekit.replaying.answer import BROKE_OFF, Broken, Headers

_TOO_LARGE = 431


class Spoken:
    """The exchanges of one connection, one after the other. `read`: gives what comes next, `received`: how
    much has come since the exchange began."""

    def __init__(self, read: Callable[[], bytes], received: Callable[[], int]):
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=answer.LARGEST_HEAD)
        self._read, self._received = read, received
        self._ended = False

    def begin(self, request: Request, target: str, headers: Headers) -> bytes:
        """What is written before the body; from now on it is known what the answer has to be read to."""
        out = self._state.send(h11.Request(method=request.method, target=target, headers=headers))
        if request.content:
            self._state.send(h11.Data(data=request.content))
        self._state.send(h11.EndOfMessage())
        return out

    def answer(self, request: Request, early: bytes | None) -> tuple[answer.Answer, bool]:
        """The answer, and whether the connection stays. `early`: what has been read of it already."""
        try:
            if early is not None:
                self._give(early)
            head = self._head()
            received = head.headers.raw_items()
            answer.check_head(head.reason, received)
            body = answer.whole_body(request, head.status_code, received, self._chunks())
            surplus, _ = self._state.trailing_data
            if self._state.their_state is h11.SEND_BODY:  # a stream that was left in the middle
                surplus = b""
            if surplus and not answer.has_no_body(request, head.status_code):
                raise answer.more_than_announced()
            stays = not surplus and (self._state.our_state, self._state.their_state) == (h11.DONE, h11.DONE)
            if stays:
                self._state.start_next_cycle()
        except h11.RemoteProtocolError as error:
            # in the words of who reads answers, and without the bytes that h11 quotes
            words = str(error).partition(": bytearray")[0].replace("request line", "status line")
            raise Broken(BROKE_OFF if self._ended else f"the answer is not HTTP: {words}") from None
        return (head.status_code, received, body), stays

    def _head(self) -> h11.Response:
        interim = answer.Interim()
        while True:
            try:
                event = self._next()
            except h11.RemoteProtocolError as error:
                raise answer.head_too_large() if error.error_status_hint == _TOO_LARGE else error from None
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise Broken("the server requires another protocol")
            interim.another()

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
            raise Broken(BROKE_OFF if self._received() else "the connection was closed without an answer")
        self._state.receive_data(data)
