#!/usr/bin/env python3
"""Checks the size limits and prints the budget: files at most 800 lines, functions at most 60.

usage: .venv/bin/python tools/check_sizes.py [-v]     -v lists the functions above 40 lines, to review

Functions are measured by lizard (pinned in tools/python-packages.txt), from the signature to the closing brace.
"""
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE, MAX_FUNCTION, REVIEW_FUNCTION = 800, 60, 40
SOURCES = ["*.cc", "*.h", "*.def", "*.inc"]
MEASURED = SOURCES + ["*.py", "*.sh", "*.cmake", "*CMakeLists.txt", "*.kt"]


def tracked(patterns):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [file for file in listed if (ROOT / file).is_file()]


def folder_of(file):
    parts = file.split("/")[:-1]
    depth = 3 if parts[:2] == ["src", "backends"] else 2
    return "/".join(parts[:depth]) or "."


def measure_functions(files):
    """[(length, file, line, name)] of every function."""
    import lizard
    analyzed = [lizard.analyze_file(str(ROOT / file)) for file in files if file.endswith((".cc", ".h"))]
    return [(f.end_line - f.start_line + 1, str(Path(a.filename).relative_to(ROOT)), f.start_line, f.name)
            for a in analyzed for f in a.function_list]


def print_budget(lengths):
    budget = defaultdict(lambda: [0, 0, 0])
    for file, lines in lengths.items():
        row = budget[folder_of(file)]
        row[0] += 1
        row[2 if "_test." in file else 1] += lines
    print(f"{'folder':28}{'files':>7}{'lines':>8}{'tests':>8}")
    for folder, (files, code, tests) in sorted(budget.items()):
        print(f"{folder:28}{files:7}{code:8}{tests:8}")
    total = [sum(column) for column in zip(*budget.values())]
    print(f"{'all':28}{total[0]:7}{total[1]:8}{total[2]:8}")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def main():
    lengths = {file: len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in tracked(MEASURED)}
    sources = tracked(SOURCES)
    functions = measure_functions(sources)
    print_budget(lengths)
    sizes = [f[0] for f in functions]
    print(f"files: median {statistics.median(lengths.values()):.0f}, largest {max(lengths.values())} lines; "
          f"functions: {len(sizes)}, median {statistics.median(sizes):.0f}, p90 {percentile(sizes, 0.9)}, "
          f"longest {max(sizes)}")
    errors = [f"{file}: {n} lines, at most {MAX_FILE}" for file, n in lengths.items() if n > MAX_FILE]
    errors += [f"{file}:{line}: {name} has {n} lines, at most {MAX_FUNCTION}"
               for n, file, line, name in functions if n > MAX_FUNCTION]
    if "-v" in sys.argv:
        for n, file, line, name in sorted(functions, reverse=True):
            if REVIEW_FUNCTION < n <= MAX_FUNCTION:
                print(f"review: {file}:{line}: {name} has {n} lines")
    print("\n".join(errors + [f"sizes: {len(lengths)} files, {len(errors)} violations"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
