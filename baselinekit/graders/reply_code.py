"""The program in a model's reply: which parts of the reply are code, and which of them are meant.

Fenced blocks are chosen by the language of their fence. Those marked python count; without any, those that
parse. A later version of the function replaces an earlier one, because the last one is what the model
ended with. Blocks that only show how to use it are left out: they could fail where the function is right."""

import ast
import builtins
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from baselinekit.lazy import lazy_pattern
from baselinekit.structs import Struct
from baselinekit.values.texts import count_noun

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
    is_closed, is_all = all(block.closed for block in used), len(used) == len(blocks)
    description = f"{count_noun(len(used), 'fenced block')} ({', '.join(map(str, used))})"
    description += ("" if is_all else f" of {len(blocks)}") + ("" if is_closed else ", not closed")
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
    line_numbers = (
        n for n, line in enumerate(lines) if n > start and line.strip() and not line[:indent].isspace()
    )
    end = next(line_numbers, len(lines)) if indent else len(lines)
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
    forms = [code, textwrap.dedent(code), by_first]
    forms += [_without_prompts(form) for form in forms[1:2] if re.search(r"^\s*>>> ?", form, re.MULTILINE)]
    forms += [_MAGIC.sub("", forms[1])] if _MAGIC.search(forms[1]) else []
    for form in dict.fromkeys(forms):
        tree = _tree(form)
        if tree is not None:
            return form, tree
    shorter = before_prose(forms[1]) if cut else ""
    tree = _tree(shorter)
    return (shorter, tree) if tree is not None and tree.body else (forms[1], None)


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
        if (
            line[:1].strip()
            and not lines[number - 1].strip()
            and not _KEYWORDS.match(line)
            and _tree(line) is None
        ):
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
