"""Replies with a program, and what a careful reader takes f(3) of it to be: the table by which taking code
out of a reply is measured. NOTHING: there is no program in it, or none that runs."""

NOTHING = "nothing"
F = "def f(n):\n    return n * n\n"
OLD = "def f(n):\n    return n + n\n"
BAD = "def f(n):\n    return n *\n"
TICKS = "```"


def block(code: str, info: str = "python", bar: str = TICKS, indent: str = "") -> str:
    lines = [f"{bar}{info}", *code.rstrip("\n").split("\n"), bar]
    return "\n".join(indent + line if line else line for line in lines) + "\n"


DOC = 'def f(n):\n    """Square.\n\n    ```\n    f(2)\n    ```\n    """\n    return n * n\n'
DOC_AT_MARGIN = 'TEXT = """\n```\nf(2)\n```\n"""\ndef f(n):\n    return n * n\n'
DOCTEST = 'def f(n):\n    """\n    >>> f(2)\n    4\n    """\n    return n * n\n'
HELPED = "def f(n):\n    return power(n, 2)\n"
HELPER = "def power(n, k):\n    return n ** k\n"
TYPED = ">>> def f(n):\n...     return n * n\n...\n>>> f(2)\n4\n"

REPLIES: list[tuple[str, str, object]] = [
    # one block
    *((f"marked {info!r}", block(F, info), 9) for info in ("python", "", "python3.11", " py")),
    *((f"fence {bar}", block(F, "python", bar), 9) for bar in ("~~~", "````")),
    ("tildes without a mark", block(F, "", "~~~"), 9),
    ("attributes", block(F, 'python title="x.py" linenums="1"'), 9),
    ("attributes in braces", block(F, "{.python .numberLines}"), 9),
    ("a braced mark", block(F, "{python}"), 9),
    ("a directive", block(F, "{code-cell} ipython3"), 9),
    ("a file name", block(F, "python:src/f.py"), 9),
    ("words around", f"Here it is:\n\n{block(F)}\nIt squares. Use `f(2)`.", 9),
    ("CRLF", f"Here:\n{block(F)}Done.".replace("\n", "\r\n"), 9),
    ("CR alone", f"Here:\n{block(F)}Done.".replace("\n", "\r"), 9),
    ("a byte order mark", "\ufeff" + block(F), 9),
    ("spaces after the fence", block(F).replace(TICKS + "\n", TICKS + "  \n"), 9),
    ("an escape that Python warns of", block("import re\n" + F + 'D = re.compile("\\d")\n'), 9),
    ("lambda", block("f = lambda n: n * n"), 9),
    ("below an if", block("import sys\nif sys:\n    def f(n):\n        return n * n\n"), 9),
    ("an import under its name", block("from operator import neg as f"), -3),
    ("with a main part", block(F + '\nif __name__ == "__main__":\n    print(f(int(input())))\n'), 9),
    # other blocks beside it
    ("bash before", f"Install:\n{block('pip install numpy', 'bash')}\n{block(F)}", 9),
    ("output after", f"{block(F)}\nOutput:\n{block('9', 'output')}", 9),
    ("an unmarked output", f"{block(F)}\ngives\n{block('f(3) -> 9', '')}", 9),
    ("an unmarked output that parses", f"{block(F)}\ngives\n{block('undefined_name', '')}", 9),
    ("unmarked code and bash", f"{block('ls', 'bash')}\n{block(F, '')}", 9),
    ("marked as text", block(F, "text"), 9),
    ("JavaScript first", f"{block('const f = n => n + n', 'js')}\n{block(F)}", 9),
    ("json alone", block('{"f": 9}', "json"), NOTHING),
    ("use marked, code not", f"{block('print(f(3))')}\n{block(F, '')}", 9),
    # several blocks of Python
    ("a helper first", f"{block(HELPER)}\nand\n{block(HELPED)}", 9),
    ("a helper last", f"{block(HELPED)}\nand\n{block(HELPER)}", 9),
    ("imports after", f"{block(F.replace('n * n', 'int(math.pow(n, 2))'))}\nWith\n{block('import math')}", 9),
    ("an example after", f"{block(F)}\n{block('print(f(3))')}", 9),
    ("an example that fails", f"{block(F)}\nNot so:\n{block('f(None)')}", 9),
    ("an example that asks", f"{block(F)}\n{block('n = int(input())' + chr(10) + 'print(f(n))')}", 9),
    ("a signature first", f"{block('def f(n: int) -> int:' + chr(10) + '    ...')}\n{block(F)}", 9),
    ("a signature last", f"{block(F)}\nIts signature:\n{block('def f(n: int) -> int: ...')}", 9),
    ("a bare signature first", f"{block('def f(n: int) -> int:')}\n{block(F)}", 9),
    ("a draft, then the last word", f"{block(OLD)}\nWait, that is wrong:\n{block(F)}", 9),
    ("a draft that cannot run", f"{block('import no_such_library' + chr(10) + OLD)}\nBetter:\n{block(F)}", 9),
    ("the last version uses a helper of the first", f"{block(HELPER + OLD)}\nBetter:\n{block(HELPED)}", 9),
    ("the last word does not parse", f"{block(F)}\nFinally:\n{block(BAD)}", NOTHING),
    ("pseudocode first", f"{block('for each n: square it')}\n{block(F)}", 9),
    ("the right one first, the wrong one quoted last", f"{block(F)}\nYour own was\n{block(OLD)}", 9),
    # indented, quoted
    ("in a list", f"1. Do this:\n\n{block(F, indent='   ')}\n2. Done.", 9),
    ("deep below a line of words", f"Here:\n{block(F, indent='      ')}\nDone.", 9),
    ("indented by a tab", block(F, indent="\t"), 9),
    ("on the line of the item", f"- {TICKS}python\n  def f(n):\n      return n * n\n  {TICKS}\n", 9),
    ("only the fences indented", f"  {TICKS}python\n{F}  {TICKS}\n", 9),
    ("code deeper than its fence", f"{TICKS}python\n    def f(n):\n        return n * n\n{TICKS}\n", 9),
    (
        "indented, with a text at the margin",
        f'  {TICKS}py\n  T = """\nx\n"""\n  def f(n):\n      return n * n\n  {TICKS}',
        9,
    ),
    ("in a quote", "".join(f"> {line}\n" for line in block(F).splitlines()), 9),
    # not closed, nested
    ("not closed", f"Here:\n{TICKS}python\n{F}", 9),
    ("not closed, words follow", f"{TICKS}python\n{F}\nThis squares the number.", 9),
    ("not closed, another opens", f"{TICKS}python\n{F}\n{TICKS}bash\npython f.py\n{TICKS}\n", 9),
    (
        "cut short within the function",
        f"{TICKS}python\ndef f(n):\n    if n > 5:\n        return 9\n\n    return (n +",
        NOTHING,
    ),
    ("a second block is cut", f"{block(F)}\nUse:\n{TICKS}python\nprint(f(", 9),
    ("only opened", f"{TICKS}python", NOTHING),
    ("closed by a longer fence", f"{TICKS}python\n{F}`````\n", 9),
    ("a longer fence around", f"````markdown\n{block(F)}````\n", 9),
    ("a longer fence around code with a fence", block(DOC_AT_MARGIN, "python", "````"), 9),
    # fences and prompts in texts
    ("a fence in a docstring", block(DOC), 9),
    ("a fence at the margin of a text", block(DOC_AT_MARGIN), 9),
    ("a doctest in a docstring", block(DOCTEST), 9),
    ("a session", block(TYPED), 9),
    ("a session without fences", TYPED, 9),
    ("a session of use after the code", f"{block(F)}\n{block('>>> f(2)' + chr(10) + '4')}", 9),
    (
        "a session that fails",
        block(TYPED + ">>> f(None)\nTraceback (most recent call last):\nTypeError: no\n"),
        9,
    ),
    ("lines for a shell", block("!pip install numpy\n%matplotlib inline\n" + F), 9),
    # without fences
    ("bare code", F, 9),
    ("bare code that is indented", "".join(f"    {line}\n" for line in F.splitlines()), 9),
    ("words, then bare code", f"Here is the function:\n\n{F}", 9),
    ("bare code between words", f"Here is the function:\n\n{F}\nIt squares the number.", 9),
    ("code indented by four between words", "Here:\n\n    def f(n):\n        return n * n\n\nDone.", 9),
    ("inline code", "Use `f = lambda n: n * n`.", 9),
    ("code in HTML", f'<pre><code class="language-python">{F}</code></pre>', 9),
    ("words alone", "I cannot do that.", NOTHING),
    ("words with backticks", "``` is a fence, and `f` is a name", NOTHING),
    ("nothing", "", NOTHING),
    ("an empty block", block(""), NOTHING),
    ("code that does not parse", block(BAD), NOTHING),
    ("another function", block("def g(n):\n    return n * n\n"), NOTHING),
    ("a null character", block("def f(n):\n    return n * n  # \0\n"), NOTHING),
]

KNOWN_WRONG = {
    "the right one first, the wrong one quoted last": "the last version counts, whatever the words say",
    "a signature last": "the last version counts, although it does nothing",
    "the last version uses a helper of the first": "earlier versions are left out, with their helpers",
    "inline code": "code within a line of words is not taken",
    "code in HTML": "tags are no fences",
    "deep below a line of words": "Markdown takes such a fence for words",
    "not closed, another opens": "Markdown takes the other one for a part of the first",
    "a fence at the margin of a text": "Markdown takes it for the end of the block",
}
