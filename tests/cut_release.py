"""Cuts a release: one version in every place that says it, and the changelog of all fragments.

``python tests/cut_release.py VERSION [--date YYYY-MM-DD]`` changes files and stages what towncrier
does with them; it commits nothing and tags nothing. It refuses a version that is not the next, one
that the changelog has already, and a working tree in which something else has changed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
CHANGELOG = "docs/changelog.md"
PLACES = {  # every file that says the version, and how: a name of it stands for the version
    "pyproject.toml": 'version = "{}"',
    "CITATION.cff": "version: {}",
    "docs/how-to/deploy-a-web-service.md": "detent-{}-py3-none-any.whl",
}


class ReleaseError(Exception):
    """It cannot be cut; nothing has been changed."""


def version_in(root: Path) -> str:
    """What the project says."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def parts(version: str) -> tuple[int, ...]:
    """Its three numbers. Raises ReleaseError where it has not got them."""
    found = VERSION.fullmatch(version)
    if found is None:
        raise ReleaseError(f"a version is three numbers, as 0.2.0, got {version!r}")
    return tuple(map(int, found.groups()))


def require(root: Path, old: str, new: str) -> None:
    """Refuse what would be no next version, or would mix with other changes."""
    major, minor, patch = parts(old)
    following = {(major, minor, patch + 1), (major, minor + 1, 0), (major + 1, 0, 0)}
    if new != old and parts(new) not in following:
        raise ReleaseError(f"{new} does not follow {old}")
    if f"## {new} (" in (root / CHANGELOG).read_text(encoding="utf-8"):
        raise ReleaseError(f"the changelog has {new} already")
    for path, form in PLACES.items():
        if form.format(old) not in (root / path).read_text(encoding="utf-8"):
            raise ReleaseError(f"{path} does not say {form.format(old)!r}")
    command = ("git", "status", "--porcelain")
    changed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    if changed:
        raise ReleaseError(f"commit or put away what has changed first:\n{changed.rstrip()}")


def cut(root: Path, new: str, date: str) -> None:
    """Write the version into every place, and the changelog."""
    old = version_in(root)
    require(root, old, new)
    for path, form in PLACES.items():
        text = (root / path).read_text(encoding="utf-8")
        (root / path).write_text(text.replace(form.format(old), form.format(new)), encoding="utf-8")
    told = ("--yes", "--version", new, "--date", date)
    command = (sys.executable, "-m", "towncrier", "build", *told)
    done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"{done.stdout}{done.stderr}\n`git checkout .` takes it all back")


def main(arguments: Sequence[str]) -> int:
    """Cut it here, and say what is left to do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    options = parser.parse_args(arguments)
    try:
        cut(ROOT, options.version, options.date)
    except ReleaseError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    new = options.version
    sys.stdout.write(
        f"look through `git diff HEAD`; then git commit -am 'Release {new}', git tag v{new}, "
        "python -m build\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
