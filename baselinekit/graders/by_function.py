"""Grader of a generated program: its code is taken from the reply and run, and the values that its function
returns are compared with the expected ones."""

import ast
import builtins
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import islice

from baselinekit.errors import Problem
from baselinekit.files.jsontext import encode
from baselinekit.graders.base import GradeClients, GraderType, ReadConfig, Task, never_fails, text_of
from baselinekit.graders.by_text import matches_everything
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Call, FunctionOutput, Grade, Outcome
from baselinekit.model.recipes import CallResult, Observation, SandboxResult
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.table import RegexBudget, compiled, full_match
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import decimal, is_number, same_json
from baselinekit.values.texts import Mask, count_noun, end_of, mask_and_clip, no_mask

# Which parts of a reply are code, and which of them are meant. Fenced blocks are chosen by the language of
# their fence. Those marked python count; without any, those that parse. A later version of the function
# replaces an earlier one, because the last one is what the model ended with. Blocks that only show how to
# use it are left out: they could fail where the function is right.

_INLINE = lazy_pattern(
    r"^[ \t]*```[ \t]*(?:(?i:python3?|py3?)[ \t]+)?([^`\n]+?)[ \t]*```[ \t]*$", re.MULTILINE
)
_BEFORE_DEEP_FENCE = lazy_pattern(r"^[^\n]*\n(?=(?: {4}|\t)[ \t]*(?:```|~~~)[ \t]*[A-Za-z])", re.MULTILINE)
"""A line of prose directly above a fence that is indented so far that Markdown takes it for prose, too."""

_LANGUAGE = lazy_pattern(r"[{.\s]*(?:(?:code-cell|code-block|code)\}?[ \t]+)?([A-Za-z0-9_+#.-]*)", re.I)
_PYTHON = lazy_pattern(
    r"python(?:-?[23](?:\.\d+)?)?|py[23]?|i?python[23]?|pycon[23]?|python-repl|pyrepl", re.I
)
_MAGIC = lazy_pattern(r"^[!%]{1,2}[A-Za-z].*$", re.MULTILINE)
_CODE_START = lazy_pattern(
    r"[ \t]*(?:@\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w|import[ \t]+\w|from[ \t]+\S+[ \t]+import\b)"
)
_KEYWORDS = lazy_pattern(
    r"(?:def|class|async|import|from|if|elif|else|for|while|with|try|except|finally|return|raise|match)\b"
    r"|[@#)\]}]"
)
_ESCAPE = lazy_pattern(r"\\(.)", re.DOTALL)
_KEPT_ESCAPES = "\n\r\\'\"Nx"
_LONGEST = 1_000_000
_MOST_BLOCKS = 100
_MOST_FENCES_IN_A_STRING = 20
_MOST_READINGS = 10
"""How often the rest of a reply, or a block within it, is read anew."""

_PROMPT, _CONTINUED = ">>>", "..."


class ExtractedCode(Struct):
    """`code` to run, and in words which part of the reply it is. `problem`: why there is nothing to run."""

    code: str
    description: str = ""
    problem: str = ""
    is_partial: bool = False


def code_in(reply: str, function: str) -> ExtractedCode:
    """The program of a reply that should define this function."""
    text = reply.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if not text.strip():
        return ExtractedCode("", problem="the reply is empty")
    if len(text) > _LONGEST:
        return ExtractedCode(text, "the whole reply, too long to be examined")
    blocks = list(islice(_blocks(text), _MOST_BLOCKS + 1))
    if not blocks:
        blocks = list(islice(_blocks(_BEFORE_DEEP_FENCE.sub("\n", text)), _MOST_BLOCKS + 1))
    if len(blocks) > _MOST_BLOCKS:
        return ExtractedCode("", problem=f"it has more than {_MOST_BLOCKS} fenced blocks")
    if blocks:
        return _from_blocks(blocks, function)
    return without_fences(text, function)


class _Block:
    """One piece of code, as it can be run, with what it does to names. `first`, `last`: its lines."""

    def __init__(self, code: str, language: str, first: int, last: int, closed: bool = True):
        self.language, self.first, self.last, self.closed = language, first, last, closed
        self.code, self.tree = _make_runnable(code, cut=not closed)

    @property
    def is_python(self) -> bool:
        return _PYTHON.fullmatch(self.language) is not None

    @cached_property
    def binds(self) -> frozenset[str]:
        return frozenset(_bound_names(self.tree.body)) if self.tree else frozenset()

    @cached_property
    def loads(self) -> frozenset[str]:
        """The names that it needs from elsewhere, or may need."""
        nodes = [*ast.walk(self.tree)] if self.tree else []
        names = [node for node in nodes if isinstance(node, ast.Name)]
        loaded = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        local = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
        local |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        return frozenset(loaded - local - self.binds - {*dir(builtins)})

    def is_example(self, is_after: bool, function: str) -> bool:
        """Whether it defines no function and no class, and shows how the function is used."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        has_none = self.tree is not None and not any(isinstance(node, kinds) for node in self.tree.body)
        return has_none and (is_after or function in self.loads)

    def defines(self, function: str) -> bool:
        if self.tree is not None:
            return function in self.binds
        return re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{function}\b", self.code, re.M) is not None

    def only_declares(self, function: str) -> bool:
        """Whether its function has no body to speak of: a docstring, `...` or `pass`."""
        body = self.tree.body if self.tree else []
        definitions = [node for node in body if getattr(node, "name", "") == function]
        return bool(definitions) and all(
            isinstance(line, ast.Pass)
            or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            for line in getattr(definitions[-1], "body", [definitions[-1]])
        )

    def __str__(self) -> str:
        return f"lines {self.first} to {self.last}" if self.last > self.first else f"line {self.first}"


def _from_blocks(blocks: Sequence[_Block], function: str) -> ExtractedCode:
    chosen = _select_by_language(blocks, function)
    if not chosen:
        problem = f"none of its {len(blocks)} fenced blocks is Python"
        return ExtractedCode("", problem=problem if len(blocks) > 1 else "its fenced block is not Python")
    used = _select_needed(chosen, function)
    is_closed = all(block.closed for block in used)
    is_all = len(used) == len(blocks)
    description = f"{count_noun(len(used), 'fenced block')} ({', '.join(map(str, used))})"
    if not is_all:
        description += f" of {len(blocks)}"
    if not is_closed:
        description += ", not closed"
    code = "\n".join(block.code for block in used)
    return ExtractedCode(code, description, is_partial=not (is_all and is_closed))


def _select_by_language(blocks: Sequence[_Block], function: str) -> list[_Block]:
    """Those marked python; with none, those without a mark that parse, and where they do not define the
    function, those of another mark that parse and do."""
    marked = [block for block in blocks if block.is_python]
    plain = [block for block in blocks if not block.language and block.tree is not None]
    if any(block.defines(function) for block in marked):
        return marked
    elsewhere = [block for block in blocks if not block.is_python and block.tree and block.defines(function)]
    if elsewhere:  # marked blocks may be needed, or show the use of the function
        return [block for block in blocks if block in (*(marked or plain), *elsewhere)]
    return marked or plain or [block for block in blocks if not block.language]


def _select_needed(blocks: Sequence[_Block], function: str) -> list[_Block]:
    """The last version of the function, and the blocks that it needs."""
    versions = [block for block in blocks if block.defines(function)]
    complete = [block for block in versions if not block.only_declares(function)] or versions
    if not complete:
        return list(blocks)
    last = complete[-1]
    after = blocks.index(last)
    candidates = [block for block in blocks if block is last or (block not in versions and block.tree)]
    examples = [block for block in candidates if block.is_example(blocks.index(block) > after, function)]
    needed = {name for block in candidates if block not in examples for name in block.loads}
    used = [block for block in candidates if block not in examples or block.binds & needed]
    bound = {name for block in used for name in block.binds}
    missing = {name for block in used for name in block.loads} - bound
    for earlier in reversed([block for block in versions if block is not last and block.tree]):
        if earlier.binds & missing:  # an earlier version has a helper that the last one uses
            used.append(earlier)
            missing -= earlier.binds
    return sorted(used, key=blocks.index)


def _bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that statements bind at the top of a module, also below `if` and `try`."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield from _bound_names(ast.iter_child_nodes(node))


def without_fences(text: str, function: str) -> ExtractedCode:
    """The whole reply if it is a program, else the lines of code between its prose."""
    inline = _INLINE.findall(text)
    if inline:
        return _from_blocks([_Block(code, "python", 1, 1) for code in inline], function)
    whole = _Block(text, "", 1, text.count("\n") + 1)
    # Prose may happen to parse: `Yes` does, `Not possible` does not.
    if whole.tree is not None and (
        whole.defines(function)
        or not all(
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Name | ast.Constant)
            for node in whole.tree.body
        )
    ):
        return ExtractedCode(whole.code, "the whole reply")
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if _CODE_START.match(line)), None)
    if start is None:
        return ExtractedCode("", problem="it contains only prose, no program")
    indent = len(lines[start]) - len(lines[start].lstrip())
    ends = (n for n, line in enumerate(lines) if n > start and line.strip() and not line[:indent].isspace())
    end = next(ends, len(lines)) if indent else len(lines)
    block = _Block("\n".join(lines[start:end]), "", start + 1, end, closed=False)
    if block.tree is None:
        return ExtractedCode(whole.code, "the whole reply, which does not parse")
    return ExtractedCode(block.code, f"what is between the prose from line {start + 1} on", is_partial=True)


def _blocks(text: str, depth: int = 0, before: int = 0) -> Iterator[_Block]:
    """The fenced blocks, also in lists and quotes; an unclosed one goes on to the end. Of a block of Markdown
    or of an indented one, the blocks within it. `before`: the number of lines before this text."""
    from markdown_it import MarkdownIt

    lines = text.split("\n")
    parser = MarkdownIt("commonmark").disable(["normalize", "inline", "html_block", "reference"])
    for token in parser.parse(text):
        (start, end), language = token.map or (0, 0), ""
        if match := _LANGUAGE.match(token.info):
            language = match[1]
        is_nested = token.type == "code_block" or language.lower() in ("markdown", "md")
        if is_nested and depth < _MOST_READINGS:
            yield from _blocks(token.content, depth + 1, before + start + (token.type == "fence"))
        if token.type != "fence" or is_nested:
            continue
        code, last_line = token.content, lines[end - 1].strip("> \t")
        closed = end - start > 1 and last_line.startswith(token.markup) and {*last_line} == {token.markup[0]}
        stop, resume = end - closed, 0
        opening = re.compile(rf"[ \t]*{token.markup}[A-Za-z][\w+-]*[ \t]*")
        inside = code.split("\n")
        cut = next((number for number, line in enumerate(inside) if opening.fullmatch(line)), len(inside))
        if cut < len(inside) and _make_runnable("\n".join(inside[:cut]), cut=True)[1] is not None:
            code, closed = "\n".join(inside[:cut]), False  # another block opens where this one was not closed
            stop = resume = start + 1 + cut
        elif token.level == 0 and has_open_string(code):  # a fence within a text closes nothing
            fences = (number for number in range(end, len(lines)) if lines[number].strip() == token.markup)
            for fence in islice(fences, _MOST_FENCES_IN_A_STRING):
                if not has_open_string("\n".join(lines[start + 1 : fence])):
                    code, stop, resume = "\n".join(lines[start + 1 : fence]), fence, fence + 1
                    break
        yield _Block(code, language, before + start + 2, before + stop, closed)
        if resume and depth < _MOST_READINGS:
            yield from _blocks("\n".join(lines[resume:]), depth + 1, before + resume)
            return


def has_open_string(code: str) -> bool:
    try:
        ast.parse(_without_warnings(textwrap.dedent(code)))
    except SyntaxError as error:
        return "unterminated triple-quoted" in str(error)
    except (ValueError, RecursionError, MemoryError):
        return False
    return False


def _make_runnable(code: str, cut: bool = False) -> tuple[str, ast.Module | None]:
    """The code as it can be run, and its tree: dedented, without prompts, without lines for a shell. `cut`:
    prose may follow it. Code that parses in none of these forms is only dedented."""
    first = next((line for line in code.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    # Without the indent of its first line: lines that have less, as in a triple-quoted string, stay.
    by_first = "\n".join(line.removeprefix(indent) for line in code.split("\n"))
    dedented = textwrap.dedent(code)
    forms = [code, dedented, by_first]
    if re.search(r"^\s*>>> ?", dedented, re.MULTILINE):
        forms.append(_without_prompts(dedented))
    if _MAGIC.search(dedented):
        forms.append(_MAGIC.sub("", dedented))
    for form in dict.fromkeys(forms):
        tree = _tree(form)
        if tree is not None:
            return form, tree
    shorter = before_prose(dedented) if cut else ""
    tree = _tree(shorter)
    return (shorter, tree) if tree is not None and tree.body else (dedented, None)


def _without_prompts(code: str) -> str:
    """The code that was typed at the prompts of an interactive session, without lone expressions."""
    entries: list[list[str]] = []
    for line in code.split("\n"):
        if line.startswith(_PROMPT):
            entries.append([line[len(_PROMPT) :].removeprefix(" ")])
        elif line.startswith(_CONTINUED) and entries:
            entries[-1].append(line[len(_CONTINUED) :].removeprefix(" "))
    texts = ["\n".join(entry) for entry in entries]
    trees = [_tree(text) for text in texts]
    return "\n".join(
        text
        for text, tree in zip(texts, trees, strict=True)
        if tree is None or not all(isinstance(node, ast.Expr) for node in tree.body)
    )


def before_prose(code: str) -> str:
    """The code without the prose that follows an unclosed block: it begins after a blank line, with an
    unindented line that does not begin as code does. Code that was cut short is not made shorter."""
    lines = code.split("\n")
    for number in range(1, len(lines)):
        line = lines[number]
        is_after_blank = line[:1].strip() and not lines[number - 1].strip()
        if is_after_blank and not _KEYWORDS.match(line) and _tree(line) is None:
            return "\n".join(lines[:number])
    return code


def _tree(code: str) -> ast.Module | None:
    try:
        return ast.parse(_without_warnings(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _without_warnings(code: str) -> str:
    """The code with those escapes doubled that Python only warns of (a `\\d` in a string), so that nothing is
    printed: only names are read from its tree, no strings."""
    return _ESCAPE.sub(lambda match: match[0] if match[1] in _KEPT_ESCAPES else "\\" + match[0], code)


# The calls of the function, and their results.

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_TOLERANCE = 1e-9
_LONGEST_SHOWN = 2_000
_LONGEST_PRINTED = 4_000
_LONGEST_LINE = 300


def function_output(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """The grade by the calls, or by those of the first alternative that all pass."""
    text = text_of(task.look(observation.output))
    grades = []
    for number, method in enumerate((task.method, *alternatives_of(task.method, task.case.expected))):
        grade = grade_by_calls(task, method, text, clients)
        if grade.outcome == "passed" and number:
            grade = replace(grade, details={**grade.details, "alternative": number})
        if grade.outcome != "failed":
            return grade
        grades.append(grade)
    return max(grades, key=lambda grade: grade.score or 0)


def grade_by_calls(task: Task, method: FunctionOutput, text: str, clients: GradeClients) -> Grade:
    extracted = code_in(text, method.function_name)
    if extracted.problem:
        reason = f"the reply contains no usable program: {extracted.problem}"
        return task.grader.graded("failed", 0.0, reason, details={"taken": "nothing"})
    ran = clients.run(method, extracted.code)
    details: dict[str, Json] = {"taken": extracted.description}
    if ran.contained:
        details["contained"] = list(ran.contained)
    if ran.not_contained:
        details["not_contained"] = list(ran.not_contained)
    if ran.flaw:
        return task.grader.graded("error", None, ran.flaw, details=details)
    results, reason = judge_calls(method, ran, clients.regex_budget(), clients.mask)
    passed = sum(result["passed"] for result in results)
    details |= {"test_results": results, "passed_count": passed, "total_count": len(results)}
    reason += f" (taken from the reply: {extracted.description})" if reason and extracted.is_partial else ""
    outcome: Outcome = "failed" if reason else "passed"
    return task.grader.graded(outcome, passed / len(results), reason, details=details)


def problems(task: Task) -> Iterator[Problem]:
    method: FunctionOutput = task.method
    for number, call in enumerate(method.test_cases):
        pattern = call.expected if call.comparator == "regex" else None
        if isinstance(pattern, str) and matches_everything(f"^{pattern}$", ("dotall",)):
            reason = f"call {number} gives whatever fits {pattern!r}, and every text does"
            yield never_fails(reason, "say what it has to give")
    if not method.test_cases:
        hint = "add `test_cases: [{args: [1], expected: 2}]`"
        yield Problem("BK706", "a function_output grader without a test case", hint)
    if not _NAME.fullmatch(method.function_name):
        yield Problem("BK706", f"{method.function_name!r} is not a function name", "letters, digits and _")


# A `functional` expectation states the calls that the grader makes.


_CALL_KEYS = {"input": "args", "output": "expected"}


class Program(Struct):
    """The value of a `functional` expectation."""

    test_cases: list[dict[str, Json]]
    function_name: str | None = None


def read_function_output(config: dict[str, Json], expected: Expected | None) -> ReadConfig:
    """The config with its calls: those that it states, or those of the expectation."""
    value = expected.value if expected is not None and expected.type == "functional" else None
    if isinstance(value, dict) and value.get("function_name") is not None:
        config = {"function_name": value["function_name"], **config}
    method, problems = read_as(FunctionOutput, config)
    if method is None or problems:
        return method, problems
    method, problems = with_calls(method, expected)
    return None if problems else method, [replace(problem, at=("test_cases",)) for problem in problems]


def with_calls(method: FunctionOutput, expected: Expected | None) -> ReadConfig:
    """The config with the calls of the expectation. Problems of these calls are reported at the
    expectation."""
    if expected is None or expected.type != "functional":
        return method, []
    message = "test cases are stated both here and in the expected value"
    problem = Problem("BK714", message, "keep one of the two lists", at=())
    return replace(method, test_cases=calls_of(expected.value)[0]), [problem] if method.test_cases else []


def alternatives_of(method: FunctionOutput, expected: Expected | None) -> Iterator[FunctionOutput]:
    """The config with the calls, and the function, of each alternative of the expectation."""
    for value in expected.alternatives if expected is not None and expected.type == "functional" else ():
        name = value.get("function_name") if isinstance(value, dict) else None
        name = name if isinstance(name, str) else method.function_name
        yield replace(method, function_name=name, test_cases=calls_of(value)[0])


def derive_function_output(expected: Expected, graders_stated: bool) -> ReadConfig:
    problems = prefix_paths(calls_of(expected.value)[1], ("value",))
    for number, value in enumerate(expected.alternatives):
        problems += prefix_paths(calls_of(value)[1], ("alternatives", number))
    if graders_stated or problems:
        return None, problems
    method, config_problems = read_function_output({}, expected)
    hint = "add it beside `test_cases`, or to the grader's config"
    problem = Problem("BK714", "it is not stated which function is called", hint, at=("value",))
    return method, [problem] if config_problems else []


def calls_of(value: Json) -> tuple[list[Call], list[Problem]]:
    """The test cases of a functional expectation: `{input: [5], output: 120}`, or as a grader states them."""
    program, problems = read_as(Program, value)
    calls: list[Call] = []
    for number, raw in enumerate(program.test_cases if program else ()):
        call, wrong = read_as(Call, {_CALL_KEYS.get(key, key): value for key, value in raw.items()})
        if any(key in raw and _CALL_KEYS[key] in raw for key in _CALL_KEYS):
            wrong = [Problem("BK714", "the same is stated twice", "`input` and `output` are enough", at=())]
        problems += prefix_paths([_with_stated_keys(one, raw) for one in wrong], ("test_cases", number))
        calls += [call] if call else []
    if program and not program.test_cases:
        problems.append(Problem("BK714", "there is no test case", "such as {input: [5], output: 120}"))
    return calls, problems


def _with_stated_keys(problem: Problem, raw: dict[str, Json]) -> Problem:
    """The problem with the keys that the call uses: a call with `input` also has `output`."""
    at = problem.at or ()
    name = next((key for key, key_of_call in _CALL_KEYS.items() if at[:1] == (key_of_call,)), None)
    if name is None or (name not in raw and not _CALL_KEYS.keys() & raw.keys()):
        return problem
    return replace(problem, message=problem.message.replace(repr(at[0]), repr(name)), at=(name, *at[1:]))


FUNCTION_OUTPUT = GraderType(
    FunctionOutput,
    function_output,
    "function_output",
    expectation="functional",
    known_by=("test_cases", "function_name"),
    read=read_function_output,
    derive=derive_function_output,
    complete=with_calls,
    problems=problems,
    program=lambda config: config,
)


def judge_calls(
    method: FunctionOutput, ran: SandboxResult, regex_budget: RegexBudget, mask: Mask
) -> tuple[list[dict[str, Json]], str]:
    """The result of each call, and why they do not pass; "" if all do. The values that a program returned are
    compared here, outside of the sandbox: nothing that the program claims about itself counts."""
    results: list[dict[str, Json]] = []
    for number, call in enumerate(method.test_cases):
        returned = ran.calls[number] if number < len(ran.calls) else CallResult(error="was not reached")
        result: dict[str, Json] = {"case": number, "passed": False}
        if returned.error:
            result["error"] = mask_and_clip(returned.error, _LONGEST_SHOWN, mask)
        else:
            text = returned.inexact or encode(returned.value)
            is_shown = not returned.inexact and len(text) <= _LONGEST_SHOWN
            result["output"] = returned.value if is_shown else mask_and_clip(text, _LONGEST_SHOWN, mask)
            result["passed"] = equal(call, returned, regex_budget)
            if not result["passed"]:
                result["expected"] = call.expected
        if printed := end_of(returned.printed, _LONGEST_PRINTED, mask):
            result["printed"] = printed
        results.append(result)
    failed = [result for result in results if not result["passed"]]
    if not failed:
        return results, ""
    first = failed[0]
    failure = mask(first.get("error") or f"gave {first.get('output')!r}, not {first.get('expected')!r}")
    lines = [line for line in failure.splitlines() if line.strip()]
    last_line = mask_and_clip(lines[-1] if lines else failure, _LONGEST_LINE, no_mask)
    passed = len(results) - len(failed)
    return results, f"{passed} of {len(results)} calls passed; call {first['case']} {last_line}"


def equal(call: Call, returned: CallResult, regex_budget: RegexBudget) -> bool:
    """Whether a call returned the expected value, by its comparator. A value that is not JSON equals nothing,
    whatever it looks like; but a set may be compared as the list of its elements."""
    expected, actual = call.expected, returned.value
    if actual is ABSENT:
        return False
    if call.comparator in ("unordered", "set") and isinstance(expected, list) and isinstance(actual, list):
        return same_elements(expected, actual, with_counts=call.comparator == "unordered")
    if returned.inexact:
        return False
    if call.comparator == "approx":
        return near(expected, actual, Decimal(str(_TOLERANCE if call.tolerance is None else call.tolerance)))
    if call.comparator == "regex":
        return isinstance(actual, str) and bool(full_match(compiled(str(expected)), actual, regex_budget))
    return same_json(expected, actual)


def near(expected: Json, actual: Json, tolerance: Decimal) -> bool:
    """Whether all numbers, at any depth, are within a tolerance: absolute, or as a share of the greater
    one."""
    if is_number(expected) and is_number(actual):
        left, right = decimal(expected), decimal(actual)
        if not (left.is_finite() and right.is_finite()):
            return False
        return abs(left - right) <= tolerance * max(Decimal(1), abs(left), abs(right))
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(near(left, right, tolerance) for left, right in pairs)
    if isinstance(expected, dict) and isinstance(actual, dict):
        has_same_keys = expected.keys() == actual.keys()
        return has_same_keys and all(near(expected[key], actual[key], tolerance) for key in expected)
    return same_json(expected, actual)


def same_elements(expected: list[Json], actual: list[Json], with_counts: bool) -> bool:
    """Whether two lists have the same elements; `with_counts`: each as often as in the other. What equals one
    element equals all that are equal to it, so the first match will do."""
    if not with_counts:
        pairs = ((expected, actual), (actual, expected))
        return all(any(same_json(a, b) for b in right) for left, right in pairs for a in left)
    remaining = list(actual)
    for element in expected:
        place = next((place for place, other in enumerate(remaining) if same_json(element, other)), None)
        if place is None:
            return False
        del remaining[place]
    return not remaining
