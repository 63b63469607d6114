"""BK5xx: the command line and its variables."""

from baselinekit.codes import Code

CODES = {
    "BK501": Code(
        "a variable that is not defined",
        "A recipe uses {{name}}, and nothing gives it a value. Pass it, read it from a file, or declare it.\n"
        "The environment of the process is never searched by itself: a pull request may change what a\n"
        "file asks for.\n\n"
        "    baselinekit compare --var api_base_url=http://127.0.0.1:8080 --env-file test.env\n\n"
        "    variables:\n"
        "      api_base_url: http://127.0.0.1:8080\n"
        "      token: {from_env: API_TOKEN, secret: true}\n\n"
        "To mean the text itself, put a backslash before it: \\{{name}}.",
    ),
    "BK502": Code(
        "an env file that cannot be read",
        "Every line of an --env-file is KEY=value, a comment or empty. Values may be quoted: '…' is taken\n"
        'as it is, "…" knows \\n and \\", and ${OTHER} is a key from a line above:\n\n'
        "    # where the tests run\n"
        "    HOST=127.0.0.1\n"
        "    export API_BASE_URL=http://${HOST}:8080\n"
        "    GREETING='costs $5'  # a comment\n\n"
        "The message names the line but does not show it: it may hold a secret.",
    ),
    "BK503": Code(
        "a report whose form is not known",
        "-o writes the report in the form that the ending of the path says:\n\n"
        "    baselinekit compare -o results.json        every detail, for programs\n"
        "    baselinekit compare -o report.html         a page to read, in one file\n"
        "    baselinekit compare -o summary.md          for a comment on a pull request\n"
        "    baselinekit compare -o results.junit.xml   for CI systems\n"
        "    baselinekit compare -o results.sarif       for code scanning\n"
        "    baselinekit compare -o results.ctrf.json   for pages and bots that read CTRF\n"
        "    baselinekit compare -o github              annotations, on standard output",
    ),
    "BK504": Code(
        "a variable whose environment variable is not set",
        "The configuration takes it from the environment of the process, where it is missing. Set it, or give\n"
        "the value on the command line:\n\n"
        "    export API_TOKEN=…\n"
        "    baselinekit compare --var token=…",
    ),
    "BK505": Code(
        "an environment that the configuration does not have",
        "--environment (or BASELINEKIT_ENVIRONMENT) chooses one of `environments:` by its name:\n\n"
        "    environments:\n"
        "      staging: {base_url: https://staging.example.com}",
    ),
    "BK506": Code(
        "a secret without a value",
        "--secret NAME takes its value from the environment variable NAME; --secret NAME=VALUE states it. A name\n"
        "is either a secret or a variable, never both:\n\n"
        "    API_TOKEN=… baselinekit compare --secret API_TOKEN",
    ),
    "BK507": Code(
        "a selection that cannot be read",
        "-k takes words of the id, the name or a tag, joined by `and`, `or`, `not` and parentheses:\n\n"
        "    baselinekit compare -k 'users and not (slow or flaky)'",
    ),
    "BK508": Code(
        "words on the command line that do not fit",
        "The message says which, and what they should look like. `baselinekit COMMAND --help` lists the options.",
    ),
    "BK509": Code(
        "nothing was selected",
        "What cannot fail is no pass, so a run that compares nothing ends with exit code 5. Ask for less, or\n"
        "check the spelling: --id takes a glob, --tag a tag, -k words.\n\n"
        "    baselinekit compare --id 'users-*'",
    ),
    "BK520": Code(
        "capture does not overwrite",
        "A baseline says what was once approved. A new answer is taken over by a refresh, which shows what\n"
        "changes and keeps placeholders and comments; to begin anew, remove its `baseline:` first.\n\n"
        "    baselinekit refresh users --replay",
    ),
    "BK521": Code(
        "what failed is not stored as known-good",
        "An answer of 500 or more, in any step of a flow, is seldom what anyone wants to keep; neither is what a\n"
        "program wrote before it was killed. If it is, say so:\n\n"
        "    baselinekit capture http GET URL --allow-error-status",
    ),
    "BK522": Code(
        "what looks like a secret",
        "Baselines are committed, so capture stops before it writes a token, a key or a password: known by its\n"
        "name, by its shape, or because it is random, also in base64 or URL-encoded. Let a\n"
        "placeholder stand for it, declare it as a secret (it is stored as <<var(name)>>), or insist; a declared\n"
        "secret in another spelling is never stored:\n\n"
        "    baselinekit capture http POST URL --placeholder 'token=<<any_jwt>>'\n"
        "    baselinekit capture http GET URL --secret token=…\n"
        "    baselinekit capture http GET URL --allow-secrets",
    ),
    "BK523": Code(
        "a path that leads nowhere in what came back",
        "--placeholder PATH=TEXT needs a path that exists in the output. The message shows the nearest one.",
    ),
    "BK524": Code(
        "what would be stored does not accept what was seen",
        "A rule or a placeholder of the new baseline fails on the very output that it was made from. Choose\n"
        "another placeholder (<<any_string>> is not a number), or another rule.",
    ),
    "BK525": Code(
        "credentials in a recipe",
        "A header such as Authorization, or a URL with user:password, would be stored in the file. Pass the\n"
        "value as a secret, and the recipe names it:\n\n"
        "    baselinekit capture http GET URL --secret token=… -H 'Authorization: Bearer {{token}}'",
    ),
    "BK526": Code(
        "an answer that nobody should take for known-good",
        "A prompt with `parse: json` was answered with no JSON, or with nothing but calls of tools. Ask again,\n"
        "mend the prompt, or say what is to be kept: `parse: text`, `collect: [text, tool_calls]`.",
    ),
    "BK527": Code(
        "replays differ where no placeholder may stand",
        "`capture --repeat` stores a placeholder for a value that varies, but hides no change of structure: a key\n"
        "that comes and goes, another type, another length, another order, another status, or all of an output.\n"
        "The file is written, with what the first replay gave at that place, and a compare will fail there until\n"
        "you say in its `comparison:` what counts:\n\n"
        "    comparison: {ignore_fields: [body.trace], arrays: {body.rows: unordered}}",
    ),
    "BK528": Code(
        "an empty answer of a model is not stored as known-good",
        "No text but blanks, null or {} in the place of JSON, and no call of a tool: as a rule nothing came. Ask\n"
        "again, mend the prompt, or say that nothing is what should come:\n\n"
        "    baselinekit capture prompt prompts/find.md --allow-empty",
    ),
    "BK530": Code(
        "nothing to refresh",
        "A refresh takes what a failing compare saw into the baseline; the target is not asked again. Compare\n"
        "first, or let it ask:\n\n"
        "    baselinekit compare --id users && baselinekit refresh users\n"
        "    baselinekit refresh users --replay\n"
        "    baselinekit refresh --all-failed\n"
        "    baselinekit refresh --from results.json   what a CI job saw",
    ),
    "BK531": Code(
        "what was kept belongs to another baseline by now",
        "Between the compare and the refresh somebody edited the recipe, the stored output or the rules. What\n"
        "came back was set against the old ones, so nobody has seen this difference yet. Compare again, and\n"
        "refresh what that shows:\n\n"
        "    baselinekit compare --id users",
    ),
    "BK532": Code(
        "a change of high risk",
        "A key that goes away, a value of another type, a status that turns into an error: whoever reads such\n"
        "an output may rely on it. Look at it, then say that it is meant:\n\n"
        "    baselinekit refresh users --dry-run\n"
        "    baselinekit refresh users --allow-high-risk\n"
        "    baselinekit refresh users --path body.name   only this part",
    ),
    "BK533": Code(
        "a placeholder that would be lost",
        "Somebody has written a placeholder there by hand, and what came back does not fit it any more: the\n"
        "refresh would put one literal value in its place. Mend the placeholder in the file, take only the\n"
        "other parts, or let it go:\n\n"
        "    baselinekit refresh users --path body.name\n"
        "    baselinekit refresh users --drop-placeholders",
    ),
    "BK534": Code(
        "a value that cannot be approved unseen",
        "What came back holds a secret, or what looks like one. It was masked before it was kept, so the value\n"
        "itself is not there to be stored, and should not be. Put a placeholder or a variable there by hand,\n"
        "or leave it out of the comparison:\n\n"
        "    token: <<any_string>>\n"
        "    token: <<var(token)>>",
    ),
    "BK535": Code(
        "a result that is not for this checkout",
        "--from takes the outputs of failed results into baselines that are here, with the same recipe, and\n"
        "nothing else: a result file is input from outside. An output over 1 MB is not in it, and which of\n"
        "several `variants` was meant it does not say. Check out what the job compared, or ask anew:\n\n"
        "    baselinekit refresh users --replay",
    ),
    "BK536": Code(
        "a path under which nothing changes",
        "--path accepts the changes at and below a path, as `compare` and `refresh --dry-run` show it.\n\n"
        "    baselinekit refresh users --path 'body.users[*].name'",
    ),
    "BK537": Code(
        "a failure that no refresh can mend",
        "What came back is as the output on file says. What failed is a rule that looks at something else: a\n"
        "limit of time or cost, a key that `require_keys` asks for. Change the rule, or mend the target.",
    ),
    "BK538": Code(
        "a decision that cannot be carried out",
        "review --decide takes a list of decisions in JSON, each about what `review --json` lists: the change\n"
        "with that number, all changes at and below that path, or all of the baseline. Nothing is written\n"
        "unless all of them hold.\n\n"
        '    [{"id": "users", "path": "body.name", "decision": "accept"},\n'
        '     {"id": "users", "number": 3, "decision": "placeholder", "value": "<<any_uuid>>"},\n'
        '     {"id": "orders-*", "path": "body.total", "decision": "ignore"}]\n\n'
        'The decisions are accept, reject, skip, placeholder and ignore; "confirm": true goes with an accept\n'
        "that is of high risk, or loses a placeholder.",
    ),
    "BK540": Code(
        "a folder that is in no git repository",
        "--changed-since, --base, --config-from and `init --git` ask git about the project, so that it must be a\n"
        "clone, with its working tree. Make it one, or leave the option out:\n\n"
        "    git init && git add . && git commit -m 'the first state'",
    ),
    "BK541": Code(
        "a commit that git does not know here",
        "--changed-since, --base and --config-from take whatever git takes for a commit: a branch, a tag, a hash,\n"
        "HEAD~3. CI systems often fetch one commit only, so that nothing else is there yet:\n\n"
        "    git fetch origin main && baselinekit compare --changed-since origin/main\n\n"
        "    - uses: actions/checkout@v4\n"
        "      with: {fetch-depth: 0}",
    ),
    "BK542": Code(
        "something that git could not do",
        "The message ends with git's own words. Where they speak of dubious ownership, the checkout belongs to\n"
        "another user, as in a container:\n\n"
        "    git config --global --add safe.directory /path/of/the/checkout",
    ),
    "BK543": Code(
        "a clone that was not told of the merge driver",
        "Which program merges a file is a setting of each clone, which git does not hand on. Until it is made,\n"
        "git merges the texts, and two branches that each recorded a result may be in conflict:\n\n"
        "    baselinekit init --git",
    ),
}
