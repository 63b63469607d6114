"""What the demo service knows: users with new ids and timestamps at every start, and orders with prices.

Version 2 renames a user's `name` to `full_name`, gives the total of a list as text, and one price has drifted
by a cent."""

import struct
import uuid
import zlib
from datetime import datetime, timedelta
from typing import Any

Record = dict[str, Any]

_FIRST = ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Tim", "Margaret", "Linus")
_LAST = ("Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Perlman")
_ARTICLES = (("KB-104", 4990), ("MS-201", 1995), ("CB-330", 745), ("ST-512", 12900))
_DRIFTED = "KB-104"
_STATUSES = ("open", "paid", "shipped", "delivered")
_ORDERS = 24
FIRST_ORDER = 1001


class Data:
    def __init__(self, users: int, start: datetime):
        self._started = start
        self.users = [
            self._user(index, start - timedelta(days=index, hours=3)) for index in range(max(1, users))
        ]

    def _user(self, index: int, created: datetime) -> Record:
        first, last = _FIRST[index % len(_FIRST)], _LAST[index % len(_LAST)]
        email = f"{first}.{last}".lower() + f"{index // 70 or ''}@example.com"
        return new_user(f"{first} {last}", email, created)

    def order(self, number: int, version: int) -> Record | None:
        index = number - FIRST_ORDER
        if not 0 <= index < _ORDERS:
            return None
        items: list[Record] = []
        total = 0
        for position in range(index % 3 + 1):
            sku, cents = _ARTICLES[(index + position) % len(_ARTICLES)]
            cents += 1 if version > 1 and sku == _DRIFTED else 0
            quantity = position % 2 + 1
            total += cents * quantity
            items.append({"sku": sku, "quantity": quantity, "price": cents / 100})
        placed = self._started - timedelta(hours=index + 1)
        return {
            "number": number,
            "status": _STATUSES[index % len(_STATUSES)],
            "customer_id": self.users[index % len(self.users)]["id"],
            "placed_at": stamp(placed),
            "items": items,
            "total": total / 100,
            "currency": "EUR",
        }

    def orders(self, version: int) -> list[Record]:
        numbers = range(FIRST_ORDER, FIRST_ORDER + _ORDERS)
        return [order for number in numbers if (order := self.order(number, version))]


def new_user(name: str, email: str, created: datetime) -> Record:
    return {"id": str(uuid.uuid4()), "name": name, "email": email, "created_at": stamp(created)}


def shown_user(user: Record, version: int) -> Record:
    """A user as the version of the API words it."""
    return user if version == 1 else {"full_name" if key == "name" else key: user[key] for key in user}


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def report(orders: list[Record]) -> str:
    counts = {status: sum(order["status"] == status for order in orders) for status in _STATUSES}
    rows = "".join(f"{status:<10} {count:>4}\n" for status, count in counts.items())
    return f"Orders by status\n\n{rows}{'total':<10} {len(orders):>4}\n"


def logo() -> bytes:
    """A small picture: a chequered PNG of 8 by 8 dots."""
    blue, white = b"\x33\x66\x99", b"\xff" * 3
    dots = [b"\0" + (blue + white if y % 2 else white + blue) * 4 for y in range(8)]
    size = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", size), (b"IDAT", zlib.compress(b"".join(dots))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
