"""BK1xx: files that cannot be read, understood or written."""

from baselinekit.codes import Code

CODES = {
    "BK101": Code(
        "a file that is no valid YAML or JSON",
        "The place is where the reader gave up; the mistake is there or just before it. Often: a text\n"
        "with `: ` or ` #` in it without quotes, a tab in the indentation, a bracket that is not closed,\n"
        "markers that an unresolved git conflict left, or a file that is not saved as UTF-8:\n\n"
        '    name: "Users: the list"\n\n'
        "The line itself is not shown: it may hold a secret.",
    ),
    "BK102": Code(
        "a key that is there twice",
        "Of two equal keys most readers silently take the last one, so a leftover of a merge would hide\n"
        "the other value. Both lines are named: remove one of the two keys.\n\n"
        "    metadata:\n"
        "      criticality: high\n"
        "      criticality: low   # which one?",
    ),
    "BK103": Code(
        "a key that is not known",
        "A key that nobody reads would be a rule that nobody keeps, so a misspelt one is an error. The\n"
        "message names the nearest key that is known there, or all of them:\n\n"
        "    comparison:\n"
        "      ignore_feilds: [id]   # did you mean 'ignore_fields'?\n\n"
        "`baselinekit schema` prints the JSON Schema; with it an editor finds such keys while you type.",
    ),
    "BK104": Code(
        "a key that is missing",
        "A baseline needs at least an id and how to ask again:\n\n"
        "    id: users-list\n"
        "    current:\n"
        "      input: {method: GET, endpoint: /users}\n"
        "      execution: {type: http}\n\n"
        "Its output is filled in by `baselinekit capture from FILE`.",
    ),
    "BK105": Code(
        "a value of another type than expected",
        "Nothing is converted: a number where a text belongs is an error, and so is a text where a number\n"
        "belongs. Types are those of YAML 1.2, where `no`, `on` and a date are texts, and 1.0 is a\n"
        "number:\n\n"
        '    baseline_version: "1.0"   # a text\n'
        "    failure_count: 0          # an integer",
    ),
    "BK106": Code(
        "a file over one of the limits",
        "A file of baselines may have 2 MB, 64 levels of nesting, 200,000 values, 1,000 anchors, aliases\n"
        "that expand to 10,000 values, and numbers of 1,000 digits. A file like that comes from an\n"
        "accident or an attack more often than from need. NaN and the infinities are no numbers of JSON:\n"
        "write them as texts, in quotes. A large output can stand in a file of its own,\n"
        "up to 64 MB:\n\n"
        "    baseline:\n"
        "      output_file: users-list.output.json",
    ),
    "BK107": Code(
        "YAML that is not read here",
        "Keys are texts, so a number or a boolean as a key is put in quotes. Merges (`<<`) and tags of\n"
        "one's own are not read: what a file means should not depend on the reader.\n\n"
        "    scores:\n"
        '      "1": bad\n'
        '      "5": good',
    ),
    "BK108": Code(
        "a value that is not allowed there",
        "The type is right and the value is not: an id with a blank in it, an endpoint without its\n"
        "leading `/`, two keys that exclude each other, a time that is not ISO 8601. The message says\n"
        "what is allowed:\n\n"
        "    id: users-list                        # letters, digits, `.`, `_`, `-`; at most 128\n"
        "    endpoint: /users                      # or url: https://api.example.com/users\n"
        "    last_passed: 2024-01-20T14:00:00Z",
    ),
    "BK109": Code(
        "an id that is there twice",
        "An id names one baseline in the whole project, also where upper and lower case are one, for\n"
        "files are named after it. Both places are named: rename one of the two.\n\n"
        "    id: users-list-page-2",
    ),
    "BK110": Code(
        "a file that holds no baseline",
        "Every .yaml, .yml and .json file that is named, or that stands below a named folder, is read as\n"
        "one baseline, a list of them, several documents, or either under `regression_eval`. Files of\n"
        "another kind belong into another folder; files that end in .output.json and hidden folders are\n"
        "passed over.\n\n"
        "    baselinekit compare baselines/users",
    ),
    "BK111": Code(
        "a file that cannot be read",
        "It is not there, it is no regular file, or you may not read it. Paths are looked up from the\n"
        "working folder; what a file names is looked up beside that file.\n\n"
        "    ls -l baselines/users.yaml",
    ),
    "BK112": Code(
        "an output file that is no text",
        "What `baseline.output_file` names is read by its ending: .json strictly as JSON, .bin as bytes\n"
        "that are compared by their hash and size, anything else as UTF-8 text.\n\n"
        "    baseline:\n"
        "      output_file: logo.output.bin",
    ),
    "BK113": Code(
        "a baseline that is there already",
        "capture writes new baselines and overwrites none: what was once said to be right is changed on\n"
        "purpose only. Choose another id, or remove the old baseline first and capture anew:\n\n"
        "    baselinekit capture http GET /users --id users-v2",
    ),
    "BK114": Code(
        "a value that cannot be stored",
        "What is stored must read back as it was, which is not possible for more than 64 levels of\n"
        "nesting, for numbers of more than 1,000 digits, and for NaN and the infinities, which JSON does\n"
        "not know. Leave that part out of the output, or let the service give it as text:\n\n"
        '    {"ratio": "NaN"}',
    ),
    "BK120": Code(
        "a file that could not be written",
        "The disk is full, the folder is read-only, or the disk reports an error. The file is as it was\n"
        "before: a file is replaced whole or not at all. What `-o` names is tried before anything is asked;\n"
        "where that fails afterwards, the verdict is told all the same. Where nothing may be written,\n"
        "compare without recording:\n\n"
        "    baselinekit compare --no-record",
    ),
    "BK121": Code(
        "a file that another process holds",
        "Only one process at a time writes a file, and the others wait up to 30 seconds. The message\n"
        "names the one that holds it. The system releases the lock when that process ends, also when it\n"
        "is killed, so there is never a lock file to remove.\n\n"
        "    ps -p 4711 -o pid,etime,args",
    ),
    "BK122": Code(
        "a change that cannot be made in place",
        "A change touches only the values that change and leaves every other byte alone. Where anchors,\n"
        "tags or keys with `?` make that impossible, or where somebody edited the file meanwhile, nothing\n"
        "is written. Write that part of the file plainly, or run again:\n\n"
        "    metadata:\n"
        "      last_passed: null\n"
        "      failure_count: 0",
    ),
    "BK130": Code(
        "a result file that cannot be used",
        "A result file is what `compare -o results.json` writes, in the form `baselinekit.results/1`. It may come\n"
        "from a CI job, so it is read strictly: an unknown key, a wrong type, an id that is there twice or counts\n"
        "that do not agree are told with their place, and nothing is taken from such a file. Write it anew:\n\n"
        "    baselinekit compare -o results.json",
    ),
    "BK131": Code(
        "result files that do not belong together",
        "`merge` makes one report of the shards of one run: each shard once, all of the same commit,\n"
        "configuration, selection, target (address and environment), version of the tool and content of the\n"
        "baselines, and each baseline in one of them only. What would make a report that no run has given is\n"
        "refused. Where each job has a target of its own (a service at a port of its own), say so:\n"
        "--allow-different target (or configuration, or version). A shard that is merely missing makes the\n"
        "report incomplete.\n\n"
        "    baselinekit compare --shard 1/2 -o 1.json\n"
        "    baselinekit compare --shard 2/2 -o 2.json\n"
        "    baselinekit merge 1.json 2.json -o results.json",
    ),
}
