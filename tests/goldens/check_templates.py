"""check_templates.py FOLDER: renders the conversations of FOLDER/rows.jsonl with FOLDER/KIND.jinja, as
transformers does, and compares the texts. Exit status: 0 all the same, 1 not, 77 no jinja2."""
import json
import os
import sys

try:
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError:
    sys.exit(77)

env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
folder = sys.argv[1]
bad = rows = 0
with open(os.path.join(folder, "rows.jsonl"), encoding="utf-8") as lines:
    for line in lines:
        row = json.loads(line)
        with open(os.path.join(folder, row["kind"] + ".jinja"), encoding="utf-8") as f:
            template = env.from_string(f.read())
        text = template.render(messages=row["messages"], add_generation_prompt=row["prompt"],
                               enable_thinking=row["thinking"])
        rows += 1
        if text != row["text"]:
            bad += 1
            print(f"{row['kind']}:\n{text!r}\n{row['text']!r}")
sys.exit(1 if bad or rows == 0 else 0)
