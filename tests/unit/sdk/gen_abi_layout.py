#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes abi_layout.h: size and offset of every struct and member of the seam, as the given C compiler lays them out.

    tests/unit/sdk/gen_abi_layout.py [CC]

Run once per deliberate change of the seam and commit the result; every build compares against it.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[2] / "sdk" / "include"
HEADERS = ["optima/abi.h"] + [f"optima/ext/{p.name}" for p in sorted((INCLUDE / "optima/ext").glob("*.h"))]


def members(body):
    """Names of the members of a struct body: split on ';' outside parentheses."""
    depth, item, names = 0, "", []
    for c in body:
        depth += (c == "(") - (c == ")")
        if c != ";" or depth:
            item += c
            continue
        function = re.match(r".*?\(\*(\w+)\)\(", " ".join(item.split()))
        if function:
            names.append(function.group(1))
        else:  # "type a, b[n]"
            names += [re.search(r"(\w+)\s*(\[\w+\])?$", d.strip()).group(1) for d in item.split(",")]
        item = ""
    return names


def structs():
    found = {}
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", (INCLUDE / header).read_text(), flags=re.S)
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(optima_\w+);", text, flags=re.S):
            found[name] = members(body)
    return found


def measure(compiler, found):
    includes = "".join(f'#include "{h}"\n' for h in HEADERS)
    lines = [f'printf("OPTIMA_SIZE({s}, %zu);\\n", sizeof({s}));\n' +
             "".join(f'printf("OPTIMA_AT({s}, {m}, %zu);\\n", offsetof({s}, {m}));\n' for m in ms) for s, ms in found.items()]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "measure.c"
        source.write_text(includes + "#include <stdio.h>\nint main(void) {\n" + "".join(lines) + "}\n")
        subprocess.run([compiler, "-I", str(INCLUDE), "-o", folder + "/measure", str(source)], check=True)
        return subprocess.run([folder + "/measure"], check=True, capture_output=True, text=True).stdout


def main():
    found = structs()
    text = measure(sys.argv[1] if len(sys.argv) > 1 else "cc", found)
    (HERE / "abi_layout.h").write_text(
        "/* SPDX-License-Identifier: Apache-2.0\n"
        " * Written by gen_abi_layout.py; a test includes it. Size and every offset of the seam on LP64. */\n" +
        "".join(f'#include "{h}"\n' for h in HEADERS) + text)
    print(f"{len(found)} structs, {text.count('OPTIMA_AT')} members")


main()
