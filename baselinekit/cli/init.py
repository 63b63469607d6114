"""`baselinekit init`."""

import os

import click

from baselinekit.cli import screen
from baselinekit.errors import InvalidInput, Problem
from baselinekit.store.results import write_text

_CONFIG = """\
# baselinekit.yaml: the nearest one upward from where you are counts; its folder is the project.
version: 1

# Where requests go; a baseline names only the endpoint. --base-url or BASELINEKIT_BASE_URL go before it.
{base_url}

# Values for {{{{name}}}} in recipes. A secret is sent and never stored or shown.
# variables:
#   user: ada
#   token: {{from_env: API_TOKEN, secret: true}}

# The same baselines against other places: baselinekit compare --environment staging
# environments:
#   staging:
#     base_url: https://staging.example.com

# Your own placeholders: <<order_no>> in a stored output
# placeholders:
#   order_no: 'ORD-\\d{{8}}'

# Programs and skills that baselines may run, by the name that they use
# commands:
#   mytool: [python, -m, mytool]
# skills:
#   code-review: {{command: [python, skills/review.py]}}

# Models that prompts, skills with a SKILL.md and judges ask; prices in dollars for a million tokens
# models:
#   default: {{openai: gpt-4.1-mini, key: openai_key, prices: {{input: 0.4, output: 1.6}}}}
# limits: {{calls: 500, usd: 2.5}}

# What to note about the surroundings of each capture
# environment:
#   node: {{command: [node, --version]}}
"""


@click.command(short_help="Set up a project: a configuration to fill in.")
@click.option("--base-url", metavar="URL", help="The address of the API to guard.")
def init(base_url: str | None) -> None:
    """Write a baselinekit.yaml with every setting explained, and make the folder baselines/.

    Nothing that is there already is touched.
    """
    if os.path.exists("baselinekit.yaml"):
        what = "baselinekit.yaml is there already"
        raise InvalidInput(Problem("BK508", what, "edit it, or remove it and run init again"))
    stated = f"base_url: {base_url}" if base_url else "# base_url: http://127.0.0.1:8000"
    write_text("baselinekit.yaml", _CONFIG.format(base_url=stated))
    os.makedirs("baselines", exist_ok=True)
    screen.line("wrote baselinekit.yaml and baselines/")
    where = "/users" if base_url else "http://127.0.0.1:8000/users"
    screen.line(f"next: baselinekit capture http GET {where} --id users")
