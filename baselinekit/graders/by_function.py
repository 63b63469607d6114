"""Grader of a generated program: its code is taken from the reply and run, and the values that its function
returns are compared with the expected ones."""

import ast
import re
import symtable
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice, takewhile
from typing import NamedTuple

from baselinekit.errors import Problem
from baselinekit.files.jsontext import encode
from baselinekit.graders.base import (
    GradeClients,
    GraderType,
    ReadConfig,
    Task,
    expected_path,
    never_fails,
    text_of,
    values_of,
)
from baselinekit.graders.by_text import matches_everything
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Call, FunctionOutput, Grade, Outcome
from baselinekit.model.recipes import CallResult, Observation, SandboxResult
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.table import RegexBudget, compiled, full_match
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import NotEmpty, Struct, asdict, field, replace
from baselinekit.values.equality import decimal, freeze, is_number, same_json
from baselinekit.values.texts import Mask, count_noun, end_of, mask_and_clip, no_mask

# Which part of a reply is its program. The last block that defines the function is what the model ended with,
# and blocks marked python come before others. The other blocks of its kind are run too, in their order, as it
# may need them; those that only show how to use the function are not: they could fail where it is right.

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
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_LONGEST = 1_000_000
_MOST_BLOCKS = 100
_DEEPEST = 10


class ExtractedCode(Struct):
    """`code` to run, and in words which part of the reply it is. `problem`: why there is nothing to run."""

    code: str
    description: str = ""
    problem: str = ""
    is_partial: bool = False


def code_in(reply: str, function: str) -> ExtractedCode:
    """The program of a reply that should define this function."""
    text = reply.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if len(text) > _LONGEST:
        return ExtractedCode(text, "the whole reply, too long to be examined")
    blocks = list(islice(_blocks(text), _MOST_BLOCKS + 1))
    if len(blocks) > _MOST_BLOCKS:
        return ExtractedCode("", problem=f"it has more than {_MOST_BLOCKS} fenced blocks")
    return _from_blocks(blocks, function) if blocks else _without_fences(text, function)


class _Block(NamedTuple):
    """One piece of code, as it can be run. `tree`: None if it does not parse; `first`, `last`: its lines."""

    code: str
    tree: ast.Module | None
    language: str
    first: int
    last: int
    closed: bool = True

    @property
    def is_python(self) -> bool:
        return _PYTHON.fullmatch(self.language) is not None

    def defines(self, function: str) -> bool:
        """Whether it gives the function its name at the top of the program, also below `if` and `try`."""
        if self.tree is None:
            return re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{function}\b", self.code, re.M) is not None
        try:
            symbols = symtable.symtable(_without_warnings(self.code), "reply", "exec").get_symbols()
        except _UNPARSABLE:
            return False
        return any(one.get_name() == function and (one.is_assigned() or one.is_imported()) for one in symbols)

    def is_example(self, function: str) -> bool:
        """Whether it defines nothing, and uses the function."""
        nodes = list(ast.walk(self.tree)) if self.tree else []
        has_definition = any(isinstance(node, _DEFINITIONS) for node in nodes)
        return not has_definition and any(getattr(node, "id", None) == function for node in nodes)

    def __str__(self) -> str:
        return f"lines {self.first} to {self.last}" if self.last > self.first else f"line {self.first}"


def _from_blocks(blocks: Sequence[_Block], function: str) -> ExtractedCode:
    versions = [block for block in blocks if block.defines(function)]
    if not versions:
        return ExtractedCode("", problem=f"none of its fenced blocks defines {function} in Python")
    last = ([block for block in versions if block.is_python] or versions)[-1]
    used = []
    for block in blocks:
        is_alike = block.is_python or not (last.is_python or block.language)
        is_needed = is_alike and block.tree is not None and not block.is_example(function)
        if block is last or (is_needed and block not in versions):
            used.append(block)
    is_closed = all(block.closed for block in used)
    is_all = len(used) == len(blocks)
    description = f"{count_noun(len(used), 'fenced block')} ({', '.join(map(str, used))})"
    if not is_all:
        description += f" of {len(blocks)}"
    if not is_closed:
        description += ", not closed"
    code = "\n".join(block.code for block in used)
    return ExtractedCode(code, description, is_partial=not (is_all and is_closed))


def _without_fences(text: str, function: str) -> ExtractedCode:
    """The whole reply if it is a program that defines the function, else the lines of code in its prose."""
    lines = text.split("\n")
    code, tree = _make_runnable(text)
    if tree is not None and _Block(code, tree, "", 1, len(lines)).defines(function):
        return ExtractedCode(code, "the whole reply")
    start = next((number for number, line in enumerate(lines) if _CODE_START.match(line)), None)
    if start is None:
        return ExtractedCode("", problem="it contains only prose, no program")
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    block = takewhile(lambda line: not line.strip() or line.startswith(indent), lines[start:])
    code, _ = _make_runnable("\n".join(block), cut=True)
    return ExtractedCode(code, f"the code from line {start + 1} on", is_partial=True)


def _blocks(text: str, depth: int = 0, before: int = 0) -> Iterator[_Block]:
    """The fenced blocks, also in lists and quotes; an unclosed one goes on to the end. Of a block of Markdown
    or of an indented one, the blocks within it. `before`: the number of lines before this text."""
    from markdown_it import MarkdownIt

    lines = text.split("\n")
    parser = MarkdownIt("commonmark").disable(["normalize", "inline", "html_block", "reference"])
    for token in parser.parse(text):
        if token.type not in ("fence", "code_block"):
            continue
        (start, end), match = token.map or (0, 0), _LANGUAGE.match(token.info)
        language = match[1] if match else ""
        if token.type == "code_block" or language.lower() in ("markdown", "md"):
            if depth < _DEEPEST:
                yield from _blocks(token.content, depth + 1, before + start + (token.type == "fence"))
            continue
        last_line = lines[end - 1].strip("> \t")
        closed = end - start > 1 and last_line.startswith(token.markup) and {*last_line} == {token.markup[0]}
        code, tree = _make_runnable(token.content, cut=not closed)
        yield _Block(code, tree, language, before + start + 2, before + end - closed, closed)


def _make_runnable(code: str, cut: bool = False) -> tuple[str, ast.Module | None]:
    """The code as it can be run, and its tree: dedented, without prompts, without lines for a shell. `cut`:
    prose may follow it. Code that parses in none of these forms is only dedented."""
    code = textwrap.dedent(code)
    forms = [code, _MAGIC.sub("", code), _typed(code), _before_prose(code) if cut else ""]
    for form in dict.fromkeys(forms):
        tree = _tree(form)
        if tree is not None and tree.body:
            return form, tree
    return code, None


def _typed(code: str) -> str:
    """What was typed at the prompts of an interactive session, without what failed there."""
    if ">>>" not in code:
        return ""
    from doctest import DocTestParser  # few replies are sessions

    try:
        examples = DocTestParser().get_examples(code)
    except ValueError:
        return ""
    return "".join(example.source for example in examples if example.exc_msg is None)


def _before_prose(code: str) -> str:
    """The code without the prose that follows an unclosed block: from where it does not parse any more, if
    that is an unindented line after a blank one that does not begin as code does. Code that was cut short is
    not made shorter."""
    lines = code.split("\n")
    try:
        ast.parse(_without_warnings(code))
    except SyntaxError as error:
        number = (error.lineno or 1) - 1
        line = lines[number] if number < len(lines) else ""
        is_after_blank = number > 0 and line[:1].strip() and not lines[number - 1].strip()
        return "\n".join(lines[:number]) if is_after_blank and not _KEYWORDS.match(line) else code
    except _UNPARSABLE:
        pass
    return code


def _tree(code: str) -> ast.Module | None:
    try:
        return ast.parse(_without_warnings(code))
    except _UNPARSABLE:
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
    for number, method in enumerate(versions_of(task.method, task.case.expected)):
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
    config, expected = task.method, task.case.expected
    if config.test_cases and expected is not None and expected.type == "functional":
        message = "test cases are stated both here and in the expected value"
        yield Problem("BK714", message, "keep one of the two lists", at=("config", "test_cases"))
    for method in versions_of(config, expected):
        for number, call in enumerate(method.test_cases):
            pattern = call.expected if call.comparator == "regex" else None
            if isinstance(pattern, str) and matches_everything(f"^{pattern}$", ("dotall",)):
                reason = f"call {number} gives whatever fits {pattern!r}, and every text does"
                yield never_fails(reason, "say what it has to give")
        if not method.test_cases:
            hint = "add `test_cases: [{args: [1], expected: 2}]`"
            yield Problem("BK702", "a function_output grader without a test case", hint)
        if not _NAME.fullmatch(method.function_name):
            hint = "state `function_name`, of letters, digits and _, beside `test_cases`"
            yield Problem("BK702", f"{method.function_name!r} is not a function name", hint)


# A `functional` expectation states the calls that the grader makes.


class Example(Call, kw_only=True):
    """A call as an expectation states it: its input, and the output that it must give."""

    expected: Json = field(name="output")
    args: list[Json] = field(name="input", default_factory=list)


class Program(Struct):
    """The value of a `functional` expectation."""

    test_cases: NotEmpty[Example]
    function_name: str | None = None


def versions_of(method: FunctionOutput, expected: Expected | None) -> list[FunctionOutput]:
    """The config with the function and the calls of a functional expectation, and of each alternative; as it
    is, if it states its own."""
    if method.test_cases or expected is None or expected.type != "functional":
        return [method]
    programs = [program for value in values_of(expected) if (program := read_as(Program, value)[0])]
    versions = []
    for program in programs:
        name = program.function_name or method.function_name or programs[0].function_name or ""
        calls = [Call(**asdict(example)) for example in program.test_cases]
        versions.append(replace(method, function_name=name, test_cases=calls))
    return versions


def derive_function_output(expected: Expected, graders_stated: bool) -> ReadConfig:
    problems = []
    for number, value in enumerate(values_of(expected)):
        problems += prefix_paths(read_as(Program, value)[1], expected_path(number))
    return None if graders_stated or problems else FunctionOutput(), problems


FUNCTION_OUTPUT = GraderType(
    FunctionOutput,
    function_output,
    "function_output",
    expectation="functional",
    known_by=("test_cases", "function_name"),
    derive=derive_function_output,
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
        counts, actual_counts = Counter(map(freeze, expected)), Counter(map(freeze, actual))
        return counts == actual_counts if call.comparator == "unordered" else {*counts} == {*actual_counts}
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
