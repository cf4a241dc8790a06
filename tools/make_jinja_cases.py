"""Fills in what Jinja gives for each template of tests/data/chat/jinja-python.json.

The environment is the one of transformers' apply_chat_template. Needs jinja2 3.1.6:
    python3 tools/make_jinja_cases.py tests/data/chat/jinja-python.json
Add a case by adding {"template": ...} to the file and running this.
"""
import json
import sys

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.TemplateError(message)


def main(path):
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = raise_exception
    with open(path, encoding="ascii") as stream:
        data = json.load(stream)
    for case in data["cases"]:
        case.pop("expected", None)
        case.pop("error", None)
        try:
            case["expected"] = environment.from_string(case["template"]).render(**data["context"])
        except Exception as error:  # any failure of the template is a result
            case["error"] = f"{type(error).__name__}: {error}"
    with open(path, "w", encoding="ascii") as stream:
        json.dump(data, stream, indent=1)
        stream.write("\n")


main(sys.argv[1])
