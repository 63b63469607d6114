"""Random cases for the oracle: documents of records over small alphabets, rules aimed at what is in them, and
an actual output that is the stored one with up to three changes, many of them where a rule looks."""

import copy
import random
from collections.abc import Callable
from typing import Any

import oracle_paths as paths
from oracle_paths import Place, number
from oracle_rules import Case

UUIDS = ("1b4e28ba-2fa1-41d2-883f-0016d3cca427", "9b2f7c1e-3c4d-4e5f-8a6b-7c8d9e0f1a2b")
ROLES = ("admin", "guest", "user")
WORDS = ("a", "b", "B", "a b", "ok", "", "x\r\ny", "x\ny", " a")
PLAIN = {
    "id": lambda pick: pick.choice((1, 2, 3, 4)),
    "role": lambda pick: pick.choice(ROLES),
    "price": lambda pick: pick.choice((1, 1.0, 1.5, 10, 10.25, 100)),
    "n": lambda pick: pick.choice((0, 1, 2, 2.0, True, None)),
    "name": lambda pick: pick.choice(WORDS),
    "ref": lambda pick: pick.choice(UUIDS),
}
ARRAYS = ("users", "items", "rows")
TAGS = ("red", "blue", 1, 1.0, True, None)

Pick = random.Random


def row(pick: Pick, keys: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {key: PLAIN[key](pick) for key in keys if pick.random() > 0.06}
    if pick.random() < 0.12:
        made["tags"] = [pick.choice(TAGS) for _ in range(pick.randint(0, 3))]
    if pick.random() < 0.12:
        made["sub"] = {"id": pick.choice((1, 2)), "price": pick.choice((1, 1.5, 10))}
    return made


def rows(pick: Pick) -> list[Any]:
    keys = pick.sample(list(PLAIN), pick.randint(1, 4))
    found: list[Any] = [row(pick, keys) for _ in range(pick.choice((0, 1, 2, 2, 3, 3, 4)))]
    for at, one in enumerate(found):
        if isinstance(one, dict) and "id" in one and pick.random() < 0.6:
            one["id"] = at + 1
    if len(found) > 1 and pick.random() < 0.2:
        found[-1] = copy.deepcopy(found[0])
    if found and pick.random() < 0.05:
        found[pick.randrange(len(found))] = pick.choice(("x", None, 7, []))
    return found


def document(pick: Pick) -> Any:
    if pick.random() < 0.05:
        return pick.choice(([], {}, rows(pick), {"m": []}))
    made: dict[str, Any] = {}
    for key in pick.sample(ARRAYS, pick.choice((1, 1, 1, 2))):
        made[key] = rows(pick)
    if pick.random() < 0.5:
        made["meta"] = {
            "n": PLAIN["n"](pick),
            "price": PLAIN["price"](pick),
            "deep": {"id": 1, "role": "admin"},
        }
    if pick.random() < 0.3:
        made["tags"] = [pick.choice(TAGS) for _ in range(pick.randint(0, 4))]
    if pick.random() < 0.3:
        made["n"] = PLAIN["n"](pick)
    if pick.random() < 0.02:
        made["x-y z"] = {"id": 1}
    return made


def places(value: Any) -> list[tuple[Place, Any]]:
    return paths.below(value)[1:]


def put(document_: Any, place: Place, value: Any) -> None:
    paths.value_at(document_, place[:-1])[place[-1]] = value


# Placeholders: into the stored output, for values that they describe as often as not.


def placeholder(pick: Pick, value: Any) -> str:
    if isinstance(value, bool):
        found = ["<<any_boolean>>", "<<one_of(true,'x')>>"]
    elif number(value):
        low = int(value) - pick.choice((0, 1))
        found = ["<<any_number>>", "{{any_number}}", f"<<any_number({low},{low + 2})>>", "<<any_integer>>"]
        found += [f"<<number({value} ± 0.5)>>", f"<<one_of({value}, 7)>>", "<<any_number|null as k>>"]
        found += ["<<any_integer as k>>", "<<any_integer|null as k>>"] if isinstance(value, int) else []
    elif isinstance(value, str):
        found = ["<<any_string>>", "{{any_string}}", "<<any_nonempty_string>>", "<<any_string as s>>"]
        found += ["<<any_uuid>>", "id <<any_uuid>>"] if value in UUIDS else ["<<any_string(0,3)>>"]
        found += [f"<<one_of({', '.join(ROLES)})>>", f"<<length({len(value)})>>", "<<regex('[a-z]*')>>"]
        found += (
            [f"<<starts_with('{value[:1]}')>>", f"<<contains('{value[-1:]}')>>"] if value.isalpha() else []
        )
    elif isinstance(value, list):
        found = ["<<any_array>>", f"<<length({len(value)})>>"]
    elif value is None:
        found = ["<<any_null>>", "<<any_integer|null>>", "<<any_integer|null as k>>"]
    else:
        found = ["<<any_object>>"]
    return pick.choice([*found, "<<any>>", f"{found[0][:-2]}?>>" if found[0][0] == "<" else "<<any?>>"])


def templated(pick: Pick, expected: Any, arrays_too: bool) -> None:
    """Placeholders in place of some values, and now and then a template in place of an array."""
    found = places(expected)
    for place, value in pick.sample(found, min(len(found), pick.choice((1, 1, 2, 3)))):
        leaf = not isinstance(value, dict | list)
        if (leaf or pick.random() < 0.1) and not gone(expected, place):
            put(expected, place, placeholder(pick, value))
    arrays = [(place, value) for place, value in places(expected) if isinstance(value, list) and value]
    if arrays and arrays_too and pick.random() < 0.5:
        place, value = pick.choice(arrays)
        one = copy.deepcopy(value[0])
        if isinstance(one, dict) and one:
            key = pick.choice(list(one))
            one[key] = placeholder(pick, one[key]) if not isinstance(one[key], str) else "<<any_string>>"
        else:
            one = "<<any>>"
        put(expected, place, [one])


def gone(value: Any, place: Place) -> bool:
    for part in place:
        known = isinstance(value, dict) and part in value
        if not known and not (isinstance(value, list) and isinstance(part, int) and part < len(value)):
            return True
        value = value[part]
    return False


# Paths: to a place that exists, made wider step by step.


def literal(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"'{value}'" if value.replace(" ", "").isalnum() else None
    return repr(value) if number(value) else None


def comparison(pick: Pick, row_: Any, root: Any) -> str:
    """One test of a filter, about a key that a row has, or has not."""
    keys = [key for key in row_ if literal(row_[key])] if isinstance(row_, dict) else []
    key = pick.choice(keys) if keys and pick.random() < 0.93 else pick.choice(list(PLAIN))
    value = row_.get(key) if isinstance(row_, dict) else None
    if pick.random() < 0.15:
        return pick.choice((f"@.{key}", f"!@.{key}"))
    if pick.random() < 0.12:
        other = pick.choice([*keys, "id", "n"])
        return f"@.{key} {pick.choice(('==', '!=', '<', '>='))} @.{other}"
    if pick.random() < 0.06 and isinstance(root, dict):
        return f"@.{key} {pick.choice(('==', '!='))} $.{pick.choice(list(root)) if root else 'n'}".replace(
            "x-y z", "n"
        )
    if pick.random() < 0.25:
        value = PLAIN[key](pick) if key in PLAIN else value
    sign = pick.choice(("==", "==", "!=", "!=", "<", ">", "<=", ">="))
    return f"@.{key} {sign} {literal(value) or 1}"


def filter_(pick: Pick, row_: Any, root: Any) -> str:
    test = comparison(pick, row_, root)
    if pick.random() < 0.22:
        test = f"{test} {pick.choice(('&&', '||'))} {comparison(pick, row_, root)}"
    elif pick.random() < 0.1:
        return f"[?{test}]"
    return f"[?({test})]"


def bracket(pick: Pick, at: int, array: list[Any], root: Any) -> str:
    """A selector of elements, in JSONPath, that selects the one at `at`."""
    size = len(array)
    kind = pick.choice(
        ("index", "negative", "any", "any", "slice", "slice", "union", "filter", "filter", "filter")
    )
    if kind == "index":
        return f"[{at}]"
    if kind == "negative":
        return f"[{at - size}]"
    if kind == "any":
        return "[*]"
    if kind == "union":
        return f"[{at},{pick.randint(0, size)}]"
    if kind == "slice":
        return pick.choice(
            (f"[{at}:]", f"[:{at + 1}]", f"[{at}:{at + 2}]", "[::2]", "[-2:]", "[::-1]", "[:-1]")
        )
    return filter_(pick, array[at], root)


def jsonpath(pick: Pick, place: Place, document_: Any) -> str:
    text, value, deep = "$", document_, pick.random() < 0.15
    skip = pick.randint(0, len(place) - 1) if deep else -1
    for n, part in enumerate(place):
        if isinstance(part, int):
            word = bracket(pick, part, value, document_)
        elif not part.isidentifier() or pick.random() < 0.08:
            word = f"['{part}']"
        else:
            word = ".*" if pick.random() < 0.06 else f".{part}"
        value = value[part]
        if n == skip:
            others = pick.random() < 0.5
            text = ("$" if others else text) + ".." + (word if word[0] == "[" else word[1:])
        else:
            text += word
    return text


def dotted(pick: Pick, place: Place) -> str:
    words: list[str] = []
    for part in place:
        if isinstance(part, int):
            if words and pick.random() < 0.6:
                words[-1] += pick.choice(("[*]", f"[{part}]", "[*]"))
            else:
                words.append("*")
        elif not part.isidentifier():
            words.append(f'"{part}"')
        else:
            words.append("*" if pick.random() < 0.05 and words else part)
    if len(words) > 1 and pick.random() < 0.2:
        cut = pick.randint(0, len(words) - 1)
        start = pick.randint(0, cut)
        words[start:cut] = ["**"]
    elif words[-1][0] not in "*" and pick.random() < 0.08:
        words = ["**", words[-1]]
    return ".".join(words)


def path_to(pick: Pick, wanted: Callable[[Any], bool], case: Case) -> str | None:
    """A path to some value of this sort, from the whole output or from the body."""
    body = case.expected["body"] if case.http and "body" in case.expected else case.expected
    found = [(place, value) for place, value in places(body) if wanted(value)]
    if not found:
        return None
    place = pick.choice(found)[0]
    if pick.random() < 0.5:
        return jsonpath(
            pick, ("body", *place) if case.http and body is not case.expected else place, case.expected
        )
    root = ("body", *place) if case.http and pick.random() < 0.15 else place
    return dotted(pick, root)


# Rules.


def anything(_: Any) -> bool:
    return True


def is_array(value: Any) -> bool:
    return isinstance(value, list)


def is_keyed(value: Any) -> bool:
    """Rows that can be paired by their id: each has one, and each another."""
    ids = (
        [row_.get("id") if isinstance(row_, dict) else None for row_ in value] if is_array(value) else [None]
    )
    return bool(ids) and all(isinstance(one, int) for one in ids) and len(set(ids)) == len(ids)


def bounds(pick: Pick) -> dict[str, Any]:
    return pick.choice(
        (
            {"abs": 0.5},
            {"abs": 1},
            {"rel": 0.1},
            {"abs": 0.5, "rel": 0.1},
            {"min_delta": -0.3},
            {"min_delta": -1, "max_delta": None},
            {"max_delta": 0.5},
            {"abs": 0},
        )
    )


def add_rules(pick: Pick, case: Case, kind: str) -> None:
    rules = case.rules
    if kind:
        rules["type"] = kind
    structural = kind in ("", "structural")
    for which in ("ignore_fields", "ignore_values", "require_keys"):
        for _ in range(pick.choices((0, 1, 2), (60, 30, 10))[0]):
            if path := path_to(pick, anything, case):
                rules.setdefault(which, []).append(path)
    if kind != "exact":
        for _ in range(pick.choices((0, 1, 2, 3), (50, 30, 15, 5))[0]):
            path = "*" if pick.random() < 0.15 else path_to(pick, anything, case)
            if path:
                rules.setdefault("tolerance", {})[path] = bounds(pick)
            if path == "*" and pick.random() < 0.5:
                rules["tolerance"][f"**.{pick.choice(('price', 'n', 'id'))}"] = bounds(pick)
    if structural:
        for _ in range(pick.choices((0, 1, 2), (35, 50, 15))[0]):
            mode = pick.choice(
                ("unordered", "unordered", "ordered", "each", "subset", {"by": "id"}, {"by": "id"})
            )
            if path := path_to(pick, is_keyed if isinstance(mode, dict) else is_array, case):
                rules.setdefault("arrays", {})[path] = mode
    if pick.random() < 0.12 and (path := path_to(pick, anything, case)):
        other = pick.choice(("structural" if rules.get("arrays") else "exact", "structural", "numeric"))
        rules["fields"] = {path: {"type": other}}
        if other == "numeric" and pick.random() < 0.7:
            rules["fields"][path]["tolerance"] = bounds(pick)
    if case.http and case.expected.get("body") == [] and pick.random() < 0.5:
        rules["ignore_values"] = ["*"]
    add_options(pick, rules, kind)


def add_options(pick: Pick, rules: dict[str, Any], kind: str) -> None:
    flags = ["case_sensitive", "trim_whitespace", "normalize_newlines"]
    if kind != "exact":
        flags += [f"allow_{flag}_fields" for flag in ("additional", "missing")] * 2
        flags += ["allow_field_reordering", "allow_empty_arrays"] * 2
    options = {flag: pick.random() < 0.5 for flag in flags if pick.random() < 0.09}
    if options:
        rules.setdefault(pick.choice(("options", "options", "tolerance")), {}).update(options)


# Changes.


def moved(pick: Pick, value: Any) -> Any:
    """A number at the border of a tolerance, or a little over it."""
    by = pick.choice((0.5, 1, 0.3, 0.1 * abs(value), 0.25))
    return round(value + pick.choice((1, -1)) * by + pick.choice((0, 0, 0.01, -0.01)), 4)


def other_value(pick: Pick, value: Any, key: str | int) -> Any:
    if number(value) and pick.random() < 0.6:
        return moved(pick, value)
    if value is True or (number(value) and value == 1 and pick.random() < 0.5):
        return pick.choice((1, 1.0, True, "1"))
    if isinstance(value, str) and pick.random() < 0.4:
        return pick.choice((value.upper(), f" {value} ", value.replace("\r\n", "\n"), f"id {value}"))
    if isinstance(value, list) and pick.random() < 0.5:
        return []
    if key in PLAIN and pick.random() < 0.7:
        return PLAIN[str(key)](pick)
    return pick.choice((None, True, 1, 1.0, "1", "x", [], {}, 10))


def change(pick: Pick, actual: Any, aims: list[Place]) -> None:
    """One change, as often as not where a rule looks."""
    found = [place for place in aims if not gone(actual, place)]
    everywhere = [place for place, _ in places(actual)]
    if not everywhere:
        return
    place = pick.choice(found) if found and pick.random() < 0.65 else pick.choice(everywhere)
    inside = [place + more for more, _ in places(paths.value_at(actual, place))]
    if inside and pick.random() < 0.4:
        place = pick.choice(inside)
    parent, key = paths.value_at(actual, place[:-1]), place[-1]
    value = parent[key]
    what = pick.choice(("value", "value", "value", "remove", "add", "shuffle", "double", "null", "keys"))
    array = value if isinstance(value, list) else parent
    if what == "remove":
        del parent[key]
    elif what == "null":
        parent[key] = None
    elif what == "keys" and isinstance(array, dict):
        shuffled(pick, array)
    elif what == "add" and isinstance(value, dict):
        value[pick.choice(list(PLAIN))] = pick.choice((1, "x", None))
    elif what == "add" and isinstance(array, list):
        like = next((one for one in array if isinstance(one, dict)), {"id": 1})
        array.insert(pick.randint(0, len(array)), row(pick, [key for key in like if key in PLAIN]))
    elif what == "shuffle" and isinstance(array, list):
        pick.shuffle(array)
    elif what == "double" and isinstance(array, list) and array:
        array.append(copy.deepcopy(pick.choice(array)))
    else:
        parent[key] = other_value(pick, value, key)


def shuffled(pick: Pick, value: dict[str, Any]) -> None:
    keys = list(value)
    pick.shuffle(keys)
    pairs = [(key, value[key]) for key in keys]
    value.clear()
    value.update(pairs)


KINDS = ("ignore_fields", "ignore_values", "require_keys", "tolerance", "arrays", "fields")


def aimed(case: Case, kinds: tuple[str, ...] = KINDS) -> list[Place]:
    """Where the rules look in the stored output."""
    texts = [text for kind in kinds for text in case.rules.get(kind, ())]
    found: set[Place] = set()
    for text in texts:
        if text.startswith("$"):
            found |= paths.select(paths.jsonpath(text, aimed=True), case.expected)
        else:
            at_body = case.http and "body" in case.expected and not text.startswith("body.")
            root = ("body",) if at_body else ()
            selected = paths.select(paths.dotted(text), paths.value_at(case.expected, root))
            found |= {root + place for place in selected}
    return sorted(found - {()}, key=str)


def keep_something(case: Case) -> None:
    """Rules that ignore everything are refused: some of those that ignore are taken away."""
    kinds = ("ignore_fields", "ignore_values")
    while any(case.rules.get(kind) for kind in kinds):
        gone_ = set(aimed(case, kinds))
        body = paths.below(case.expected["body"], ("body",)) if case.http else paths.below(case.expected)
        leaves = [(place, value) for place, value in body if not paths.children(value)]
        if case.rules.get("type") == "numeric":
            leaves = [(place, value) for place, value in leaves if number(value)]
        if any(not any(place[:n] in gone_ for n in range(len(place) + 1)) for place, _ in leaves):
            return
        for kind in kinds:
            if case.rules.get(kind):
                case.rules[kind].pop()


def random_case(seed: int) -> Case:
    pick = random.Random(seed)
    body = document(pick)
    http = pick.random() < 0.35
    whole: Any = body
    if http:
        headers = {"content-type": "application/json", "X-Id": "7"}
        whole = {"status": pick.choice((200, 201)), "headers": headers, "body": body}
    expected, actual = copy.deepcopy(whole), copy.deepcopy(whole)
    kind = pick.choices(("", "structural", "exact", "numeric"), (50, 15, 12, 10))[0]
    if pick.random() < 0.5 and kind != "numeric":
        templated(pick, expected["body"] if http else expected, kind != "numeric")
    if http and pick.random() < 0.3:
        del expected[pick.choice(("status", "headers"))]
    case = Case(expected, actual, {}, http)
    add_rules(pick, case, kind)
    keep_something(case)
    if http and pick.random() < 0.1:
        actual["headers"] = {"Content-Type": "application/json; charset=utf-8", "x-id": pick.choice("78")}
    aims = aimed(case)
    for _ in range(pick.choices((0, 1, 2, 3), (12, 45, 28, 15))[0]):
        if http and pick.random() < 0.07:
            actual["status"] = pick.choice((200, 201, 204, 200.0))
            continue
        target = actual["body"] if http else actual
        own = [place[1:] for place in aims if place[0] == "body"] if http else aims
        change(pick, target, [place for place in own if place])
    return case
