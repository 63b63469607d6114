"""What is said of the reports of a run that its suite keeps."""

from collections.abc import Sequence

from baselinekit.cli import screen


def told(paths: Sequence[str]) -> str:
    """`evals/results/2024-01-20/run-143052.{json,md}`: they differ in their endings."""
    stem = paths[0].partition("/run-")[2].partition(".")[0]
    endings = [path.rpartition(f"/run-{stem}.")[2] for path in paths]
    if not stem or not paths[1:]:
        return screen.safe_line(", ".join(paths))
    return screen.safe_line(f"{paths[0].removesuffix(endings[0])}{{{','.join(endings)}}}")


def result_file(paths: Sequence[str]) -> str | None:
    """The one among them that a gate reads."""
    found = (path for path in paths if path.rpartition("/")[2].partition(".")[2] == "json")
    return next(found, None)
