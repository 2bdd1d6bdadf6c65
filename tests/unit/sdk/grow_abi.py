# SPDX-License-Identifier: Apache-2.0
"""Writes the abi.h of a minor to come: every struct of a graph image that may grow ends with a member `to_come`. Usage: grow_abi.py ABI_H OUT"""
import pathlib
import re
import sys

GROWING = ("optima_image_graph", "optima_node", "optima_value", "optima_attr", "optima_constant", "optima_capture", "optima_opset", "optima_dim")


def change(text, old, new):
    """`text` with the one place that fits the pattern replaced."""
    out, count = re.subn(old, new, text)
    if count != 1:
        sys.exit(f"abi.h has {count} places like {old}, wanted one")
    return out


def grown(text):
    text = change(text, r"(?m)^(#define OPTIMA_ABI_MINOR) (\d+)", lambda m: f"{m[1]} {int(m[2]) + 1}")
    for name, member, size in [("optima_image", "optima_array to_come;", 16)] + [(n, "uint64_t to_come;", 8) for n in GROWING]:
        text = change(text, rf"}} {name};", f"{member} }} {name};")
        text = change(text, rf"OPTIMA_SIZE\({name}, (\d+)\)", lambda m, n=name, s=size: f"OPTIMA_SIZE({n}, {int(m[1]) + s})")
    return text


if __name__ == "__main__":
    source, out = map(pathlib.Path, sys.argv[1:])
    out.write_text(grown(source.read_text(encoding="utf-8")), encoding="utf-8")
