"""BK2xx: the rules of comparison, their paths and placeholders."""

from baselinekit.codes import Code

CODES = {
    "BK201": Code(
        "a path that cannot be read",
        "A path is dotted, with wildcards, or JSONPath when it begins with `$`. Odd keys are quoted:\n\n"
        "    ignore_fields:\n"
        "      - users.*.id              # every element\n"
        "      - users[0].name           # the first one\n"
        '      - "**.updated_at"         # wherever it stands\n'
        '      - headers."x-request-id"\n'
        "      - $.body.users[?(@.id > 1)].name\n\n"
        "A JSONPath takes names, *, [n], [a:b], lists of them, one `..`, and filters: @.a == 1, !=, <, <=,\n"
        "&&, ||, ! and parentheses. A filter sees its own element alone (@), and texts in it are quoted.\n"
        "What would be read in another sense than it is written is refused: regular expressions, functions,\n"
        "arithmetic, a slice with a step of 0, an index beyond 2^53.",
    ),
    "BK202": Code(
        "a key of tolerance that is neither a switch nor a path",
        "In `tolerance` a switch takes true or false, and a path takes a mapping of bounds. Below `fields`\n"
        "the path is known already, so the bounds stand there by themselves:\n\n"
        "    tolerance:\n"
        "      allow_additional_fields: true\n"
        "      prices.*: {abs: 0.05}\n"
        "    fields:\n"
        "      total: {type: numeric, tolerance: {rel: 0.01}}",
    ),
    "BK203": Code(
        "a rule that means nothing here",
        "`min_similarity` is how alike two texts must be under `type: semantic`. Another type compares\n"
        "texts exactly and would never look at it. Set the type, for all or for one field:\n\n"
        "    fields:\n"
        "      summary: {type: semantic, method: judge, min_similarity: 0.8}\n\n"
        "`cost` is for prompts and skills: nothing else says what it cost.",
    ),
    "BK204": Code(
        "a path that starts at two places",
        "In the output of an HTTP request a dotted path may start at the body or at the whole response,\n"
        "whichever has it. Both have this one. Say which:\n\n"
        "    ignore_fields: [body.status]     # or $.status for the response's own",
    ),
    "BK205": Code(
        "bounds that no change can keep",
        "The delta is current minus baseline: a fall is negative, and null or left out means no bound.\n"
        "`abs` and `rel` are widths around the baseline, 0 or more.\n\n"
        "    tolerance:\n"
        "      scores: {min_delta: -0.3, max_delta: null}   # may fall by 0.3, and rise without limit\n"
        "      price: {abs: 0.05}",
    ),
    "BK206": Code(
        "texts compared by what they say, and nobody says how",
        "`type: semantic` needs a `method`, for all or for each field:\n\n"
        "    comparison: {type: semantic, method: judge}\n\n"
        "`judge` asks a model of each fact whether it is kept, changed or missing. `words` counts the words that\n"
        "both texts have in the same order: for text that stays nearly as it is. `embedding` lets a small model on\n"
        "this machine say whether the topic is the same: it tells nothing of facts.",
    ),
    "BK207": Code(
        "an old name of a method",
        "`lexical` is read as before and is called `words` now, since that is what it compares:\n\n"
        "    comparison: {type: semantic, method: words}",
    ),
    "BK211": Code(
        "a placeholder that cannot be read",
        "A placeholder is << name, arguments if it takes some, ? if it may be absent, |null if it may be\n"
        "null, `as key` if the same key must be the same value everywhere, and >>:\n\n"
        "    id: <<any_uuid as user>>\n"
        "    name: <<any_string(1, 80)|null>>\n"
        "    nickname: <<any_string?>>\n\n"
        "Arguments are JSON scalars or bare words; anything else goes into '…', with '' for a quote in it.\n"
        "To mean the text itself, put a backslash before it: \\<<any_uuid>>.",
    ),
    "BK212": Code(
        "a placeholder that does not exist",
        "The message shows the nearest name. One of your own is declared in baselinekit.yaml:\n\n"
        "    placeholders:\n"
        "      order_no: '^ORD-\\d{8}$'\n\n"
        "and used as <<order_no>>. To mean the text itself, put a backslash before it: \\<<order_no>>.",
    ),
    "BK213": Code(
        "a placeholder with arguments that it does not take",
        "The message shows an example of the right ones. A least and a greatest may be left open with\n"
        "null:\n\n"
        "    age: <<any_integer(0, 150)>>\n"
        "    tags: <<any_array(any_string, 1, null)>>\n"
        "    seen: <<any_iso_datetime(5m)>>       # within five minutes of now\n"
        "    price: <<number(9.99 ± 0.05)>>",
    ),
    "BK214": Code(
        "a regular expression that is none, or too long",
        "The whole text must match, so ^ and $ around the expression may be left out. Put it in '…', where\n"
        "a backslash is a backslash; at most 1,000 characters. A part may be repeated up to 10,000 times in\n"
        "all ({3} repeats it three times, + and * cost nothing), and none may refer to itself ((?R)).\n\n"
        "    order: <<regex('ORD-\\d{8}')>>",
    ),
    "BK215": Code(
        "a regular expression that takes too long",
        "An expression has one second for a text, those of a baseline about one second in all, and a text\n"
        "has at most 1,000,000 characters. Nested repetitions such as (a+)+ take ages where they do not\n"
        "match; several <<any>> in one long text do, too, and so do adjacent placeholders that can split a\n"
        "long text in very many ways: put some text between them. What could not be decided is an error, never a\n"
        "pass. Make it more exact:\n\n"
        "    <<regex('[a-z]+(-[a-z]+)*')>>   instead of   <<regex('([a-z]+-?)+')>>",
    ),
    "BK216": Code(
        "a placeholder that cannot stand inside a text",
        "An object or an array is never a part of a text, nor is a regular expression that refers back to\n"
        "its own groups (\\1). Such a placeholder stands alone:\n\n"
        "    items: <<any_array>>\n"
        "    code: <<regex('(.)\\1')>>",
    ),
    "BK217": Code(
        "a placeholder of your own with the name of a built-in one",
        "Whoever reads <<any_email>> expects what it always means. Choose another name in\n"
        "baselinekit.yaml:\n\n"
        "    placeholders:\n"
        "      work_email: '[a-z.]+@example\\.com'",
    ),
    "BK221": Code(
        "an array that cannot be paired by this key",
        "`by` needs a literal value under the key in every element, and no two alike. Otherwise let the\n"
        "order be free, and the best pairing is found:\n\n"
        "    arrays:\n"
        "      users: {by: id}\n"
        "      tags: unordered",
    ),
    "BK222": Code(
        "an array mode in an exact comparison",
        "`type: exact` compares arrays in their order, so no other mode than `ordered` can be. Use `type:\n"
        "structural`, or make only a part exact:\n\n"
        "    type: structural\n"
        "    arrays: {users: unordered}\n"
        "    fields: {meta: {type: exact}}",
    ),
    "BK223": Code(
        "a baseline without an output",
        "The file says how to ask and not yet what is right. Capture it once the answer is known to be\n"
        "good:\n\n"
        "    baselinekit capture from baselines/users.yaml",
    ),
    "BK224": Code(
        "rules that ignore everything",
        "Whatever comes back, this baseline would pass. What could not fail is not a pass. Leave something\n"
        "to compare: a key, the type of a value, the status.\n\n"
        "    ignore_fields: [body.token, body.expires_at]     # instead of [body]",
    ),
    "BK225": Code(
        "a stored output with parts that its recipe does not give",
        "A response has status, headers and body; the result of a command has exit_code, stdout, stderr\n"
        "and files. State those that are to be compared, and the answer's own keys below body:\n\n"
        "    output:\n"
        "      status: 200\n"
        "      body:\n"
        "        users: []",
    ),
    "BK226": Code(
        "a rule that did nothing, or hid too much",
        "Under --strict-rules a path rule must meet something, and an ignored value must keep its type: a\n"
        "typo in a path ignores nothing, and a rule that is too broad hides a regression. The message\n"
        "names the rule and the nearest path that exists. Without --strict-rules it is only a note.",
    ),
    "BK231": Code(
        "an array with too many ways to pair its rows",
        "Rows of an unordered array are told apart by what is literal in them. Where too much is a\n"
        "placeholder or tolerated, every row might go with every other one: above two million pairs nobody\n"
        "decides. Pair them by a key, or keep their order:\n\n"
        "    arrays:\n"
        "      events: {by: id}",
    ),
    "BK232": Code(
        "a variant for a place that nobody knows",
        "`when` of a variant names what is known of the place of a run: environment (what --environment\n"
        "chose), platform, tool, git.branch, and what the configuration declares under `environment:`.\n"
        "All of it must fit; `*` stands for anything, a list for one of several:\n\n"
        "    baseline:\n"
        "      output: {status: 200}\n"
        "      variants:\n"
        "      - when: {environment: staging, platform: [linux-*, darwin-*]}\n"
        "        output: {status: 404}",
    ),
    "BK233": Code(
        "a baseline without an output for this place",
        "None of its variants fits where this runs, and it has no output of its own, which counts\n"
        "everywhere else. Add a variant for this place, or an `output` beside `variants`.",
    ),
}
