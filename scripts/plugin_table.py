#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the README's plugin table from what the built host lists; --check only compares.

    scripts/plugin_table.py build/release [--check]
"""
import json
import pathlib
import subprocess
import sys

START, END = "<!-- plugin table: scripts/plugin_table.py -->\n", "<!-- end of plugin table -->"
README = pathlib.Path(__file__).parent.parent / "README.md"


def table(build, before):
    """`before`: rows of the README by plugin; kept for plugins that this machine does not build (their dependency is absent)."""
    listed = subprocess.run([f"{build}/bin/optima-host", "--json", "--plugins", f"{build}/lib/optima/plugins", "plugins"],
                            check=True, capture_output=True, text=True).stdout
    rows = {}
    for p in json.loads(listed)["plugins"]:
        if "id" not in p:
            continue
        row = rows.setdefault(p["id"], {"kinds": [d["kind"] for d in p["devices"]], "operators": 0, "named": p["only_when_named"], "files": []})
        row["operators"] = max(row["operators"], p["operators"])
        row["files"].append(pathlib.Path(p["path"]).name)
    lines = ["| plugin | devices | operators | files | |", "|---|---|---|---|---|"]
    texts = dict(before)
    for name, row in rows.items():
        note = "only when named" if row["named"] else ""
        texts[name] = f"| `{name}` | {' '.join(row['kinds'])} | {row['operators']} | {', '.join(f'`{f}`' for f in sorted(row['files']))} | {note} |"
    for name in sorted(texts.keys() - rows.keys()):
        print(f"plugin {name} is not built here, its row stays as it was", file=sys.stderr)
    lines += [texts[name] for name in sorted(texts)]
    return "\n".join(lines) + "\n"


def is_here(name):
    return (README.parent / "plugins" / name).is_dir()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    text = README.read_text()
    before, rest = text.split(START)
    old, after = rest.split(END)
    listed = {line.split("`")[1]: line for line in old.splitlines() if line.startswith("| `") and is_here(line.split("`")[1])}
    new = before + START + table(sys.argv[1], listed) + END + after
    if "--check" in sys.argv[2:]:
        sys.exit(0 if new == text else "README.md: the plugin table is not what the host lists; run scripts/plugin_table.py")
    README.write_text(new)


if __name__ == "__main__":
    main()
