#!/usr/bin/env python3
"""Checks that every folder includes only from the folders it may use, and that vendor declarations stay in one place.

usage: tools/check_layers.py [--print]

The table below is the layering of docs/architecture.md, as data. A folder of src/ is known by its longest listed
prefix. Tests (*_test.cc), benches and fuzz targets follow the same rule, except that they may also use
tests/ helpers.
"""
import fnmatch
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# folder: the folders it may include from, besides itself and include/hexlane/status.h.
# "a" stands for a/ and everything below it that has no row of its own; * for a part of one name.
LAYERS = {
    "base": [],
    "op": ["base"],
    "target": ["base"],
    "package": ["base"],
    "kernels": ["base", "op"],
    "ir": ["base", "op"],
    "interp": ["base", "op", "kernels", "ir"],
    "formats": ["base", "op", "ir"],
    "quant": ["base", "op", "target", "kernels", "ir", "interp", "formats"],
    "models": ["base", "op", "target", "kernels", "ir", "interp", "formats"],
    "passes": ["base", "op", "target", "kernels", "ir", "interp", "formats", "quant", "models"],
    "backends/backends.def": [],
    "backends/linked_names.h": ["backends/backends.def"],
    # What the two sides of a backend share (declarations of a vendor's interface, loading its library).
    "backends/*": ["base", "op", "target", "package", "kernels"],
    "backends/emitter*": ["base", "op", "target", "package", "kernels", "ir", "quant", "models", "passes",
                          "backends/backends.def", "backends/linked_names.h"],
    "backends/*/emit": ["base", "op", "target", "package", "kernels", "ir", "interp", "quant", "models", "passes",
                        "backends/emitter*", "backends/*"],
    "backends/executor*": ["base", "op", "kernels", "package", "backends/backends.def",
                           "backends/linked_names.h"],
    "backends/conformance": ["base", "package", "backends/executor*"],
    "backends/*/exec": ["base", "op", "target", "kernels", "package", "backends/executor*", "backends/conformance", "backends/*"],
    "runtime": ["base", "target", "package", "kernels", "backends/executor*"],
    "c_api": ["base", "runtime"],
    "compiler": ["base", "op", "target", "package", "kernels", "ir", "interp", "formats", "quant", "models",
                 "passes", "backends/emitter*", "backends/executor*", "backends/*", "backends/*/emit", "runtime"],
}
# Public headers may use only each other; these folders may use only public headers and themselves.
PUBLIC_ONLY = ["cli", "android", "bench"]
# Names that only the vendor's interface has; the sole folder that may spell them.
VENDOR_NAME = re.compile(r"\bQnn(?!Htp\.so|HtpPrepare|System\.so)[A-Z][A-Za-z]*_[A-Za-z]\w*|\bQNN_[A-Z][A-Z_]+\b")
VENDOR_FOLDER = "src/backends/qnn/"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def matches(pattern, path):
    """True when `path` (relative to src/) is `pattern` or below it."""
    wanted, got = pattern.split("/"), path.split("/")
    return len(wanted) <= len(got) and all(fnmatch.fnmatchcase(g, w) for w, g in zip(wanted, got))


def layer_of(path):
    rows = [row for row in LAYERS if matches(row, path)]
    return max(rows, key=lambda row: (row.count("/"), len(row)), default=None)


def include_error(file, target):
    """Why `file` (relative to the root) may not include `target` (as written), or None."""
    if target.startswith("hexlane/"):
        if file.startswith("src/") or target == "hexlane/status.h":
            return None
        return None if (ROOT / "include" / target).exists() else "no such public header"
    if not file.startswith("src/"):
        own = file.split("/")[0]
        if own in PUBLIC_ONLY + ["include"]:
            return None if (ROOT / own / target).exists() or target.startswith(own + "/") else \
                "may use only include/hexlane/"
        return None
    source = file[len("src/"):]
    if source.count("/") == 0:
        return None
    own, other = layer_of(source), layer_of(target)
    if own is None:
        return f"folder of {source} is not in the table of tools/check_layers.py"
    if target.startswith("tests/"):
        return None if re.search(r"_(test|bench|fuzz)\.cc$", file) else "only tests may use tests/"
    if other is None:
        return f"'{target}' belongs to no layer"
    if other == own or other in LAYERS[own]:
        return None
    return f"{own} may not use {other}"


def check_file(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        error = include_error(file, found.group(1)) if found else None
        if error:
            yield f"{file}:{number}: {error} ({line.strip()})"
        code = re.sub(r'"[^"]*"', '""', line).split("//")[0]
        if not file.startswith(VENDOR_FOLDER) and VENDOR_NAME.search(code):
            yield f"{file}:{number}: vendor declaration outside {VENDOR_FOLDER} ({line.strip()})"


def main():
    if "--print" in sys.argv:
        for row, uses in LAYERS.items():
            print(f"{row:22} {', '.join(uses)}")
        return 0
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cc", "*.def",
                             "*.inc"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [file for file in listed if (ROOT / file).exists()]
    errors = [error for file in files for error in check_file(file)]
    print("\n".join(errors + [f"layers: {len(files)} files, {len(errors)} violations"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
