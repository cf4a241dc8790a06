#!/usr/bin/env python3
"""Checks that every folder of src/ has its page in docs/, and that relative links in Markdown files lead somewhere."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def missing_pages():
    for folder in sorted((ROOT / "src").iterdir()):
        if folder.is_dir() and not (ROOT / "docs" / f"{folder.name}.md").exists():
            yield f"src/{folder.name}: no page docs/{folder.name}.md"


def broken_links(file):
    text = re.sub(r"```.*?```", "", (ROOT / file).read_text(encoding="utf-8"), flags=re.S)
    for found in LINK.finditer(text):
        target = found.group(1)
        if "://" not in target and not (ROOT / file).parent.joinpath(target).exists():
            yield f"{file}: link to {target} leads nowhere"


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()
    files = [file for file in listed if (ROOT / file).exists()]
    errors = list(missing_pages()) + [error for file in files for error in broken_links(file)]
    print("\n".join(errors + [f"docs: {len(files)} pages, {len(errors)} violations"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
