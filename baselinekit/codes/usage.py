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
        "    baselinekit compare -o results.junit.xml   for CI systems\n"
        "    baselinekit compare -o summary.md          for a comment on a pull request",
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
        "A baseline says what was once approved. To capture it anew, remove its `baseline:` (or the whole file)\n"
        "first, so that the change is seen in the diff.",
    ),
    "BK521": Code(
        "a server error is not stored as known-good",
        "An answer of 500 or more is seldom what anyone wants to keep. If it is, say so:\n\n"
        "    baselinekit capture http GET URL --allow-error-status",
    ),
    "BK522": Code(
        "what looks like a secret",
        "Baselines are committed, so capture stops before it writes a token, a key or a password: known by its\n"
        "name, by its shape, or because it is random, also in base64 or URL-encoded. Let a\n"
        "placeholder stand for it, declare it as a secret (it is stored as <<var(name)>>), or insist:\n\n"
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
}
