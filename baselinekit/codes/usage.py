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
}
