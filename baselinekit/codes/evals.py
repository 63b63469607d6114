"""BK7xx: eval cases, what they are graded by, and what a grade hangs on."""

from baselinekit.codes import Code

CODES = {
    "BK701": Code(
        "a regex grader that cannot be used",
        "It needs a pattern, and for each name under `capture_groups` a group, by that name or by its number:\n\n"
        "    grader:\n"
        "      type: code\n"
        "      config: {method: regex, pattern: '^(?P<verb>\\w+)', capture_groups: [verb]}",
    ),
    "BK702": Code(
        "a model grader that cannot be used",
        "A judge needs a rubric, and a way to score. A numbered text is read for its criteria, with their\n"
        "weights and ranges in brackets; they may also be stated one by one:\n\n"
        "    grader:\n"
        "      type: model\n"
        "      config:\n"
        "        rubric:\n"
        "        - {name: accuracy, description: is it right?, weight: 0.7}\n"
        "        - {name: tone, description: is it friendly?, weight: 0.3}\n"
        "        scoring: {type: numeric, range: [1, 5], threshold: 4}",
    ),
    "BK703": Code(
        "a JSON Schema that cannot be used",
        "State `schema` in place or `schema_file` with a path from the eval file. What a `$ref` names outside\n"
        "of the schema is never fetched.\n\n"
        "    config: {method: json_schema, schema: {type: object, required: [id]}}",
    ),
    "BK704": Code(
        "a grader that nobody could be found for",
        "What grades this case is not there in this run: a fault of the tool itself. Please report it.",
    ),
    "BK705": Code(
        "a grader with nothing to grade by",
        "What could not fail is not a pass. Say what would be right:\n\n"
        "    expected: {type: exact, value: olleh, alternatives: ['olleH']}",
    ),
    "BK706": Code(
        "a function_output grader that cannot be used",
        "It needs the name of the function and at least one test case; a comparator is one of equals, approx,\n"
        "unordered, set and regex:\n\n"
        "    config:\n"
        "      method: function_output\n"
        "      function_name: solve\n"
        "      test_cases:\n"
        "      - {args: [1, 2], expected: 3}\n"
        "      - {args: [0.1, 0.2], expected: 0.3, comparator: approx}",
    ),
    "BK707": Code(
        "a sandbox that is not there",
        "The grader says `sandbox: true`: the code runs under bubblewrap or not at all. It is not installed here,\n"
        "or the system forbids it.\n\n"
        "    apt install bubblewrap          # or dnf, apk, pacman\n\n"
        "Without `sandbox: true`, and with --allow-exec, it runs beside your files, with limits of time and memory,\n"
        "and the report says what it could have reached (baselinekit explain BK406).",
    ),
    "BK708": Code(
        "a check that cannot fail, or cannot pass",
        "What cannot fail is no pass: an empty list of texts, the empty text, a pattern such as .* that is found\n"
        "in every text, a schema that asks for nothing, a threshold that every score reaches. Say what would be\n"
        "right, or take the check out:\n\n"
        "    expected: {type: contains, value: total}\n"
        "    grader: {type: code, config: {method: regex, pattern: .+}}       # anything but nothing\n"
        "    grader: {type: code, config: {method: json_schema, schema: true}}  # any JSON",
    ),
    "BK709": Code(
        "a part that no output has",
        "`of` names the part of an output that a grader looks at. Of a command there are exit_code, stdout,\n"
        "stderr and files, of a response status, headers and body; what is below the body may be named as it\n"
        "is. Without it the standard output counts, or the body; $ is all of it:\n\n"
        "    expected: {type: exact, value: 0, of: exit_code}\n"
        "    grader: {type: code, config: {method: contains, none: [Traceback], of: stderr}}",
    ),
    "BK710": Code(
        "a file that holds no eval",
        "A case has `id`, `input`, `expected` and `grader`; a file of cases has `metadata` and `test_cases`; a\n"
        "regression eval is a baseline; a suite stands under `eval_suite`. Folders called config, baselines,\n"
        "fixtures and results are passed over when evals are looked for.",
    ),
    "BK711": Code(
        "a case that nothing grades",
        "What could not fail is not a pass. Say what would be right, or who is to judge:\n\n"
        "    expected: {type: contains, value: total}\n"
        "    grader: {type: model, config: {rubric: is it polite?}}",
    ),
    "BK712": Code(
        "a code grader with no method, or an unknown one",
        "It is one of exact_match, regex, contains, json_schema, structural_match and function_output. Without\n"
        "a method the type of what is expected decides: exact, pattern, contains, functional.\n\n"
        "    grader: {type: code, config: {method: exact_match}}",
    ),
    "BK713": Code(
        "a grader name that nothing stands for",
        "Graders with a name are described in config/graders.yaml, in the folder of the suite or above it:\n\n"
        "    polite:\n"
        "      type: model\n"
        "      config: {rubric: is it polite?}\n\n"
        "and a case says `grader: polite`.",
    ),
    "BK714": Code(
        "an expectation that says too little, or the same twice",
        "`expected` and `expected_output` mean the same: keep one. The value of a functional expectation lists\n"
        "calls, that of a semantic one what has to be in the output:\n\n"
        "    expected:\n"
        "      type: functional\n"
        "      value: {function_name: double, test_cases: [{input: [2], output: 4}]}",
    ),
    "BK715": Code(
        "an input that its target cannot be asked",
        "A prompt or a file is for a model or a skill, an api_call for http, a command for a program. Whom a\n"
        "case asks is its own `execution`, else `config.execution` of its file, else that of its suite:\n\n"
        "    execution: {type: skill, skill_name: reverse}",
    ),
    "BK716": Code(
        "a reference in a suite, or in a gate, that leads nowhere",
        "A `$ref` is the path of a file, or of a folder with eval files, from the suite's own folder on. No\n"
        "file may be named twice, and no suite may lead back to itself. The `suite:` of a gate is the path of\n"
        "one, from the gate's folder on, else from the project's root.\n\n"
        "    evals:\n"
        "    - $ref: ./capability/strings.yaml",
    ),
    "BK717": Code(
        "a file of graders or thresholds that cannot be used",
        "config/graders.yaml maps names to graders, config/thresholds.yaml metrics to their least values:\n\n"
        "    preset: staging\n"
        "    pass@1: 0.85\n"
        "    pass^3: 0.7",
    ),
    "BK720": Code(
        "a run that is under way already",
        "Each run of eval cases keeps a journal in .baselinekit/journal/, so that it can go on after a crash\n"
        "(--resume). Two runs of the same cases cannot write one journal: let the other one finish first.",
    ),
    "BK721": Code(
        "cases without a grader of this kind",
        "--grader-type asks graders of one kind only, and a case that has none would pass unseen. Add such a\n"
        "grader to these cases, or choose others:\n\n"
        "    baselinekit run --suite evals/eval-suite.yaml --grader-type code --tag strings",
    ),
    "BK722": Code(
        "a case whose time was over",
        "Its limit is for all of it: every request of a flow, the judges, a sandbox. Raise `timeout_seconds` of\n"
        "the case, or of its file:\n\n"
        "    config: {timeout_seconds: 60}",
    ),
    "BK723": Code(
        "a threshold that cannot be used",
        "It names a metric and the least share that is good enough, from 0 to 1:\n\n"
        "    thresholds: {pass@1: 0.9, pass@3: 0.95, pass^3: 0.8}",
    ),
    "BK724": Code(
        "a threshold that cannot be met",
        "`pass@3` is about three attempts of each case, and the run makes fewer: nobody could tell it, and it\n"
        "would not be met whatever comes back. So it is told before anything is asked. Make as many attempts:\n\n"
        "    config: {attempts: 3}\n"
        "    thresholds: {pass@3: 0.95}",
    ),
    "BK730": Code(
        "a file with no gate in it",
        "A gate stands in a plan as an eval step, or as a trigger:\n\n"
        "    phase:\n"
        "      name: Implement user authentication\n"
        "      steps:\n"
        "      - type: eval\n"
        "        config: {suite: ./evals/auth.yaml, required_pass_rate: 0.9, metrics: [pass@1]}\n\n"
        "    eval_trigger:\n"
        "      suite: ./evals/auth.yaml\n"
        "      thresholds: {pass_at_1: 0.85}\n"
        "      on_failure: {action: block, report_path: './eval-results/phase-{phase_id}.md'}\n\n"
        "A report goes into the project, as .md, .json or .html.",
    ),
    "BK731": Code(
        "a gate that asks for nothing",
        "What could not fail is not a pass. Say what has to be reached: `required_pass_rate: 0.9` in a phase\n"
        "step, `thresholds: {pass_at_1: 0.85}` in a trigger.",
    ),
    "BK732": Code(
        "a requirement that cannot be read",
        "A metric, `>=`, and the least value of it: --require 'pass@1>=0.85', 'pass^3>=70%', 'pass rate>=0.9'.\n"
        "The quotes keep the shell from taking `>` for itself.",
    ),
    "BK733": Code(
        "no earlier run to compare with",
        "--compare-to takes a result file of `baselinekit run -o x.json`, or `last`: the last run of the same\n"
        "suite whose results are kept in .baselinekit/results/.",
    ),
    "BK735": Code(
        "nobody could be notified",
        "What `notify:` in baselinekit.yaml names did not take it: a program that ended with an exit code, an\n"
        "address that is not there or did not answer 2xx. The run is what it is all the same.\n\n"
        "    notify:\n"
        "      command: [./tell.sh]              # gets JSON on its standard input\n"
        "      # or: webhook: '{{chat_url}}'     # a variable, so that it can be a secret\n"
        "      # always: true                    # also when all is well",
    ),
    "BK736": Code(
        "labels that cannot be used",
        "A calibration file is a list: an output, and what a person says of it, as passed or failed, or as a\n"
        "score on the judge's own scale:\n\n"
        "    - {input: Summarize this, output: 'A short summary', human: passed}\n"
        "    - {input: Summarize this, output: Hello, human: 1, note: off topic}",
    ),
    "BK740": Code(
        "a human grader that cannot be used",
        "It says how many people rate, and on which scale:\n\n"
        "    grader:\n"
        "      type: human\n"
        "      config:\n"
        "        evaluators: {min_required: 2, max_allowed: 5, agreement_threshold: 0.8}\n"
        "        rating_scale: {type: likert, range: [1, 5], labels: {1: Poor, 5: Excellent}, threshold: 4}\n"
        "        rubric: Would you send this to a customer?",
    ),
    "BK741": Code(
        "a rating that its scale does not have",
        "A rating is one of the two options of a binary scale, a whole number of a likert scale (one for each\n"
        "criterion, where there are several), or all numbers of what is to be ranked, the best first.\n\n"
        "    baselinekit grade greeting --as ada --value Pass\n"
        "    baselinekit grade tone --as ada --value '4 5 3'\n"
        "    baselinekit grade drafts --as ada --value '2 > 1 > 3'",
    ),
    "BK742": Code(
        "too few or too many items to rank",
        "What is ranked are the output and what the case expects (`value` and `alternatives`), or where nothing\n"
        "is expected the entries of an output that is a list: from `min_items` to `max_items` of them.",
    ),
    "BK743": Code(
        "the queue of ratings cannot be used",
        "What waits for people, and what they said, is kept in `.baselinekit/ratings.sqlite`. If it is damaged,\n"
        "move it away and import the ratings from a file that was exported before:\n\n"
        "    baselinekit grade --export ratings.yaml\n"
        "    baselinekit grade --import ratings.yaml",
    ),
    "BK744": Code(
        "a rating that cannot be added",
        "Each person rates an output once (`--change` replaces the rating), and no more people than the grader\n"
        "allows: `evaluators: {max_allowed: 5}`.",
    ),
    "BK745": Code(
        "nothing of that name waits for people",
        "A case is in the queue once a run has seen its output.\n\n"
        "    baselinekit run\n"
        "    baselinekit grade --list",
    ),
    "BK746": Code(
        "a file of ratings that cannot be read",
        "It is what `baselinekit grade --export` writes. A rater's own form has a `value` to fill in:\n\n"
        "    baselinekit grade --export ada.yaml --as ada\n"
        "    baselinekit grade --import ada.yaml",
    ),
}
