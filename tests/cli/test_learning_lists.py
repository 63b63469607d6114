"""`refresh --learn` of lists as its user meets it: what is shown, what a program reads, and what stays."""

import json
from itertools import count
from pathlib import Path

from console import console
from server import JSON, HostileServer, Peer, whole


def test_refresh_learn_proposes_rules_for_lists_and_lists_values_that_stay(tmp_path: Path) -> None:
    """A pool of workers and a term, captured once each; then the service was restarted."""
    numbers = count(1)

    def pool(peer: Peer) -> None:
        number = next(numbers)
        rows = [{"name": f"worker-{number}-{n}", "state": "idle"} for n in range(number % 3 + 1)]
        peer.say(whole(json.dumps({"workers": rows}).encode(), JSON))

    with console(tmp_path / "p") as terminal, HostileServer() as server:
        server.routes |= {"/pool": pool, "/term": whole(b'{"term": 1}', JSON)}
        (terminal.folder / "baselinekit.yaml").write_text("version: 1\n")
        for name in ("pool", "term"):
            words = f"capture http {server.url}/{name} --id {name} --group x --repeat 1"
            assert terminal.run(f"baselinekit {words}").exit_code == 0
        server.routes["/term"] = whole(b'{"term": 2}', JSON)
        assert terminal.run("baselinekit compare").exit_code == 1
        document = json.loads(terminal.run("baselinekit refresh pool --learn --json").stdout)["baselines"][0]
        assert document["lists"] == [{"path": "body.workers", "rule": "each"}]
        assert document["written"] is False
        ran = terminal.run("baselinekit refresh pool term --learn --yes")
        assert ran.exit_code == 3, ran.stderr
        for line in (
            "  body.workers.*.name  <<any_nonempty_string>>",
            "  body.workers  arrays: each, for 1 to 3 rows",
            "  stays: body.term: it changed from 1 (as stored) to 2 (in all 3 answers)",
            "if the service was only restarted, and nothing on it was changed: add --unchanged",
            "wrote 1 placeholder and 1 rule for lists of 1 baseline in 1 file",
        ):
            assert line in ran.stdout.splitlines(), ran.stdout
        refused = terminal.run("baselinekit refresh term --unchanged")
        assert refused.exit_code == 2
        assert "BK508 --unchanged has no effect without --learn: add --learn" in refused.stderr
        ran = terminal.run("baselinekit refresh term --learn --unchanged --yes")
        assert (ran.exit_code, "add --unchanged" in ran.stdout) == (0, False), ran.stdout
        assert terminal.run("baselinekit compare").exit_code == 0
