"""The nodes of objects and of response headers."""

from baselinekit.matching.rules import Mode, Rule, State
from baselinekit.matching.values import Ignored, Link, Node, PlaceholderNode, Scalar, Walk
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import escape_value
from baselinekit.placeholders.template import Inline, Placeholder
from baselinekit.structs import MutableStruct
from baselinekit.values.equality import identical

_SCALARS = (str, int, float, bool, type(None))


class Object(MutableStruct):
    """An object: its literal part; `texts`, the keys that hold a placeholder; `ignored`, the keys that a rule
    ignores, with the type there; `nodes` for the other keys. `open`: further keys do not matter. `opened`:
    the nodes of literal values, made when a different value was found."""

    expected: dict[str, Json]
    mode: Mode
    state: State
    nodes: tuple[tuple[str, Node], ...]
    literal_fields: dict[str, Json]
    at: Link
    texts: tuple[tuple[str, Placeholder | Inline], ...] = ()
    ignored: tuple[tuple[str, type, Rule, bool], ...] = ()
    open: bool = False
    optional: bool = False
    opened: dict[str, Node] | None = None

    def refuses(self, actual: Json) -> bool:
        """Whether a placeholder does not accept the actual value: a quick check before anything else."""
        return actual.__class__ is dict and any(
            template.alone is not None and key in actual and not template.alone(actual[key])
            for key, template in self.texts
        )

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is not dict:
            return walk.replaced(self.expected, actual, path, self.at)
        changed: dict[str, Json] = {}
        remaining = actual.copy()
        start = walk.count
        for key, template in self.texts:
            actual_value = remaining.pop(key, ABSENT)
            if actual_value is ABSENT:
                if not template.optional:
                    self._report_missing(key, self.expected[key], walk, path, changed)
            elif not template.accepts(actual_value, walk.bindings):
                refusing = PlaceholderNode(self.expected[key], template, (self.at, key))
                changed[key] = refusing.refuse(actual_value, walk, (path, key))
        for key, kind, rule, keep in self.ignored:
            actual_value = remaining.pop(key, ABSENT)
            if actual_value.__class__ is kind:
                walk.hits.add(rule)
            elif actual_value is not ABSENT:
                Ignored(self.expected[key], rule, (self.at, key), keep).walk(actual_value, walk, (path, key))
            elif keep:
                self._report_missing(key, self.expected[key], walk, path, changed)
        for key, node in self.nodes:
            actual_value = remaining.pop(key, ABSENT)
            if actual_value is not ABSENT:
                resolved = node.walk(actual_value, walk, (path, key))
                if resolved is not node.expected:
                    changed[key] = resolved
            elif not node.optional:
                self._report_missing(key, node.expected, walk, path, changed)
        differences_so_far = walk.count - start and max(len(changed), 1)
        count = walk.count
        self._walk_literals(remaining, walk, path, changed)
        if not remaining.keys() <= self.literal_fields.keys():
            self._report_extra(remaining, actual, walk, path, changed)
        if differences_so_far > 1 or (differences_so_far and walk.count != count):
            walk.shuffled = True
        moved = False
        if not self.mode.allow_field_reordering:
            before = [key for key in self.expected if key in actual]
            after = [key for key in actual if key in self.expected]
            moved = before != after
            if moved:
                walk.differ(path, "order", before, after, self.at, "allow_field_reordering")
        return self._build_resolved(actual, changed, moved) if changed or moved else self.expected

    def _walk_literals(
        self, remaining: dict[str, Json], walk: Walk, path: Link, changed: dict[str, Json]
    ) -> None:
        equal = []
        for key, value in self.literal_fields.items():
            actual_value = remaining.get(key, ABSENT)
            kind = value.__class__
            if actual_value.__class__ is kind and actual_value == value:
                if kind is dict or kind is list:
                    equal.append((key, value, actual_value))
            elif actual_value is ABSENT:
                self._report_missing(key, value, walk, path, changed)
            else:
                self._walk_differing(key, value, actual_value, walk, path, changed)
        if equal and not identical(
            [value for _, value, _ in equal], [actual_value for _, _, actual_value in equal]
        ):
            walk.shuffled = True
            for key, value, actual_value in equal:  # `==` takes true for 1, even deep inside
                self._walk_differing(key, value, actual_value, walk, path, changed)

    def _walk_differing(
        self, key: str, value: Json, actual_value: Json, walk: Walk, path: Link, changed: dict[str, Json]
    ) -> None:
        mode = self.mode
        if value.__class__ in _SCALARS and mode.type in ("structural", "exact"):
            node: Node = Scalar(value, value, mode, (self.at, key))
        else:
            self.opened = {} if self.opened is None else self.opened
            if key not in self.opened:
                below = self.state.step(key, value, len(self.expected))
                self.opened[key] = walk.open(value, mode, below, (self.at, key))
            node = self.opened[key]
        resolved = node.walk(actual_value, walk, (path, key))
        if resolved is not value:
            changed[key] = resolved

    def _report_missing(
        self, key: str, value: Json, walk: Walk, path: Link, changed: dict[str, Json]
    ) -> None:
        if not self.mode.allow_missing_fields:
            walk.missing(value, (self.at, key), (path, key))
            changed[key] = ABSENT

    def _report_extra(
        self,
        remaining: dict[str, Json],
        actual: dict[str, Json],
        walk: Walk,
        path: Link,
        changed: dict[str, Json],
    ) -> None:
        """Report the keys that the actual object has beyond the baseline."""
        allowed = self.open or self.mode.allow_additional_fields
        if allowed and self.state.dead:
            return
        for key, value in remaining.items():
            if key in self.literal_fields:
                continue
            here = self.state.step_alone(key, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
            if not allowed and (here is None or here.ignore is None):
                walk.extra(value, (path, key), self.at)
                changed[key] = escape_value(value)

    def _build_resolved(
        self, actual: dict[str, Json], changed: dict[str, Json], moved: bool
    ) -> dict[str, Json]:
        resolved = {**self.expected, **changed}
        if moved or not self.mode.allow_field_reordering:
            resolved = {key: resolved[key] for key in actual if key in resolved} | resolved
        elif len(resolved) > len(self.expected):
            from baselinekit.values.changes import with_new_keys

            actual_keys = [key for key in actual if key in resolved]
            resolved = {key: resolved[key] for key in with_new_keys(self.expected, actual_keys)}
        if any(value is ABSENT for value in changed.values()):
            return {key: value for key, value in resolved.items() if value is not ABSENT}
        return resolved


class Headers(MutableStruct):
    """Response headers: names ignore case, and further headers are ignored."""

    fields: Object
    optional: bool = False

    @property
    def expected(self) -> Json:
        return self.fields.expected

    @property
    def at(self) -> Link:
        return self.fields.at

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, dict):
            return walk.replaced(self.expected, actual, path, self.at)
        spelled = {key.casefold(): key for key in self.fields.expected}
        return self.fields.walk(
            {spelled.get(key.casefold(), key): value for key, value in actual.items()}, walk, path
        )
