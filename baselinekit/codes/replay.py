"""BK3xx: the target could not be asked, or its answer cannot be used."""

from baselinekit.codes import Code

CODES = {
    "BK301": Code(
        "no connection to the target",
        "Nothing was sent: the host's name is not known, nobody listens at that port, or nobody\n"
        "answered within five seconds. Start the service, or correct the address:\n\n"
        "    baselinekit compare --base-url http://127.0.0.1:8080\n\n"
        "`retries: 3` in execution or under `http:` in the configuration asks again.",
    ),
    "BK302": Code(
        "no TLS connection",
        "The certificate of the target is not trusted, or a certificate file cannot be read. Name the\n"
        "file of your own certificate authority:\n\n"
        "    http:\n"
        "      verify: certs/our-ca.pem\n\n"
        "`verify: false` checks nothing; keep it for a service on your own machine. HTTP/2 (`http2:\n"
        "true`) needs `pip install 'baselinekit[http2]'`.",
    ),
    "BK303": Code(
        "no whole answer in time",
        "`timeout` is the time for a request as a whole: its redirects, tries and waits, and every byte\n"
        "of the answer. The default is 30 seconds. Raise it where an answer may take longer, for more than 300\n"
        "seconds under `limits:` of the configuration as well:\n\n"
        "    execution:\n"
        "      type: http\n"
        "      timeout: 120",
    ),
    "BK304": Code(
        "an answer that broke off",
        "The connection was closed before the whole answer had come, more came than the answer\n"
        "announced, or what came is not HTTP. Such an answer is never compared: what is missing could\n"
        "be what matters. Where a server closes a connection as it is used again, a GET, PUT or DELETE is\n"
        "sent once more by itself; a POST never is, as the server may have acted on it.",
    ),
    "BK305": Code(
        "an answer that is too large",
        "A body may have 10 MB, decompressed, the headers 64 kB and the status line 8 kB, and ten interim\n"
        "(1xx) answers may come before the answer. JSON may hold an array or object for every ten bytes of\n"
        "the limit for the body. Ask for less (a page, a filter), or raise that limit:\n\n"
        "    http:\n"
        "      max_body: 50000000",
    ),
    "BK306": Code(
        "an encoding that cannot be undone",
        "One layer of gzip or deflate can be decoded. Other encodings come only when a recipe asks for\n"
        "them: leave the header Accept-Encoding out, or set it to `identity`.",
    ),
    "BK307": Code(
        "JSON that is none",
        "What says that it is JSON must be JSON: no repeated key, no NaN, at most 64 levels and 1,000\n"
        "digits. The message names the byte. Correct the service, or its Content-Type if it is not\n"
        "meant to be JSON; for a command, leave out `parse: json`.",
    ),
    "BK308": Code(
        "a redirect that is not followed",
        "Redirects are followed only when the recipe asks for it (`redirects: true`, or how many). A\n"
        "body is never sent on to another origin, credentials and the recipe's own headers neither.",
    ),
    "BK310": Code(
        "no base_url",
        "The recipe gives an `endpoint`, and nobody says of which service. The first of these counts:\n\n"
        "    baselinekit compare --base-url http://127.0.0.1:8080\n"
        "    execution: {type: http, base_url: 'https://api.example.com'}     # in the baseline\n"
        "    base_url: https://api.example.com                               # in baselinekit.yaml",
    ),
    "BK311": Code(
        "a request that cannot be sent",
        "Something in the request contradicts itself, or cannot stand in a request: two of `endpoint`,\n"
        "`path` and `url`, two bodies, a line break in a header, credentials in a URL. Host,\n"
        "Content-Length and the like follow from the rest and cannot be set. An example of a request:\n\n"
        "    input:\n"
        "      method: POST\n"
        "      endpoint: /api/v1/users\n"
        "      headers: {Accept: application/json}\n"
        "      json: {name: Ada}",
    ),
    "BK312": Code(
        "a step or a path that is not clear",
        "`collect` names a step by its `name` or its number, and after a dot what is taken of its\n"
        "output. A path in `save` and `collect` starts at the whole output or at its body; where both\n"
        "have it, say which:\n\n"
        "    steps:\n"
        "      - {name: login, method: POST, endpoint: /login, save: {token: body.token}}\n"
        "      - {name: me, endpoint: /me, headers: {Authorization: 'Bearer {{token}}'}}\n"
        "    collect: {user: me.body, status: login.$.status}",
    ),
    "BK313": Code(
        "nothing to save",
        "A step of a flow should hand on a value that its answer does not have. The message names the\n"
        "nearest key. Often the step itself failed: look at its status.",
    ),
    "BK320": Code(
        "a program that cannot be started",
        "The program is not installed, not in the PATH, not executable, or its working folder does not\n"
        "exist. Programs are named in the configuration; a path in it starts at the project's folder:\n\n"
        "    commands:\n"
        "      report: [python, tools/report.py]",
    ),
    "BK321": Code(
        "a program that did not end in time",
        "It was asked to end, and two seconds later it was killed, with everything that it had started.\n"
        "The default limit is 60 seconds; `timeout:` in execution or of the skill sets another.",
    ),
    "BK322": Code(
        "a program that writes too much",
        "The standard output of a program may have 1 MB. Let it write less, or into a file that the\n"
        "recipe names under `files:`.",
    ),
    "BK323": Code(
        "a skill that failed",
        "The program ended with an exit code other than 0, or the callable raised. A skill that has\n"
        "nothing to say answers so; an error is never taken for an output.",
    ),
    "BK324": Code(
        "an unknown skill",
        "A skill is declared in the configuration, as a program or as a Python callable, which is\n"
        "called as `function(input, **parameters)`:\n\n"
        "    skills:\n"
        "      code-review: {command: [python, skills/review.py]}\n"
        "      summary: {python: 'skills.summary:summarize'}\n\n"
        "A program gets `{skill, input, parameters}` as JSON on its standard input.",
    ),
    "BK325": Code(
        "a file that a recipe names",
        "Paths in a recipe start at the folder of the baseline's file. What they name must exist, lie\n"
        "inside the project, be a regular file of at most 10 MB, and be UTF-8 where text is wanted.",
    ),
    "BK330": Code(
        "interrupted",
        "The run was interrupted while this was under way. Nothing is recorded for it.",
    ),
    "BK331": Code(
        "a command that cannot be run",
        "`argv` names a program and gives it its arguments, as a list:\n\n"
        "    input: {argv: [report, --month, '2024-01']}\n"
        "    execution: {type: command}",
    ),
    "BK340": Code(
        "a variable that the configuration does not list for the program",
        "A baseline sets those environment variables of its command that the configuration lists for it, and\n"
        "no other: many programs run what a variable tells them to (PATH, TAR_OPTIONS, GIT_SSH_COMMAND …), so\n"
        "that a file alone would decide what runs. A listed variable also comes from your own environment,\n"
        "where the file does not set it. The short form of a command lists none:\n\n"
        "    commands:\n"
        "      report: {argv: [python, tools/report.py], env: [LANG, MODE]}\n"
        "      mytool: [mytool]\n\n"
        "--allow-exec grants whatever the files name: every program, and every variable.",
    ),
    "BK350": Code(
        "a name in a template that nothing stands for",
        "`{{name}}` in a prompt's template is an input of the recipe, or a variable. An input stands under\n"
        "`inputs:`, or in the file that `inputs_from:` names:\n\n"
        "    input: {prompt: summary.md, inputs: {article: {file: article.txt}}}\n\n"
        "Write \\{{name}} to mean the text itself.",
    ),
    "BK351": Code(
        "an input that the template does not ask for",
        "Most likely its name is spelled otherwise in the template. Inputs of an `inputs_from:` file may be\n"
        "more than a template asks for.",
    ),
    "BK352": Code(
        "a prompt that is not stated as one thing",
        "`input:` of a prompt recipe has one of `prompt: FILE`, `text: …` and `messages: […]`.",
    ),
    "BK353": Code(
        "a template or a file of inputs of another form",
        "A template that is a .yaml or .json file is a list of messages, each {role, content}. A file of\n"
        "inputs is a mapping.",
    ),
    "BK354": Code(
        "a skill that answers in another form",
        "With `output: trace` a skill answers with an object {output, tool_calls, usage}, of which only\n"
        "`output` is needed. An HTTP skill must answer with a status below 400.",
    ),
    "BK355": Code(
        "scores that cannot be asked for",
        "`scores:` needs a rubric, each criterion with what is meant by it, and a scale:\n\n"
        "    scores: {rubric: {clarity: can a newcomer follow it?}, model: judge, scale: [1, 5]}",
    ),
    "BK399": Code(
        "a fault of ours",
        "Something happened that the tool did not expect. No result was made up: the baseline counts as an\n"
        "error, never as a pass or a failure. BASELINEKIT_TRACEBACK=1 shows where; please report it.",
    ),
}
