#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints tier 1 as rows for info.hpp: every ONNX operator version that OpenVINO's front end has a translator for.

Names, versions and element types come from ONNX's schemas, the yes or no from the front end: it is given a model of that one
node. Each question is asked in a process of its own, because a node without its operands may end the process; a front end
that got that far has a translator.
"""
import os
import sys

import onnx
import openvino
from onnx import TensorProto, helper

CANONICAL = 21  # the opset subgraphs arrive in
# Types the CPU device computes without losing range, i64 apart: it holds indices and shapes, and is narrowed to i32 inside.
TYPES = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "bfloat16": 16}


def numbers(parameter):
    names = (t[len("tensor("):-1] for t in parameter.types if t.startswith("tensor("))
    return sorted(TYPES[n] for n in names if n in TYPES)


def model_of(schema, opset):
    names = [f"x{k}" for k in range(schema.min_input)]
    node = helper.make_node(schema.name, names, ["y"])
    graph = helper.make_graph([node], "one", [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 1]) for n in names],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def required(schema):
    """How many leading inputs must be there."""
    count = 0
    for p in schema.inputs:
        if p.option == onnx.defs.OpSchema.FormalParameterOption.Optional:
            break
        count += p.min_arity if p.option == onnx.defs.OpSchema.FormalParameterOption.Variadic else 1
    return count


def has_translator(core, schema, opset):
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr = open(os.devnull, "w")
        try:
            core.read_model(model_of(schema, opset))
        except Exception as e:
            os._exit(1 if "No conversion rule" in str(e) else 0)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 1 << 8


def rows(core):
    versions = {}
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain == "" and not s.deprecated:
            versions.setdefault(s.name, []).append(s)
    for name, schemas in sorted(versions.items()):
        schemas.sort(key=lambda s: s.since_version)
        merged = []
        for k, s in enumerate(schemas):
            after = schemas[k + 1].since_version if k + 1 < len(schemas) else 99
            ins, outs = [numbers(p) for p in s.inputs], [numbers(p) for p in s.outputs]
            plain = all(ins) and all(outs) and len(ins) <= 8 and len(outs) <= 8
            if not plain or not has_translator(core, s, max(s.since_version, min(CANONICAL, after - 1))):
                continue
            last = merged[-1] if merged else None
            if last and last[2:] == [ins, outs, required(s), k - 1]:
                last[1], last[5] = s.since_version, k
            else:
                merged.append([s.since_version, s.since_version, ins, outs, required(s), k])
        for first, last, ins, outs, least, _ in merged:
            yield name, first, last, ins, outs, least


def sets(all_numbers):
    return "{" + ", ".join(str(sum(1 << n for n in one)) + "u" for one in all_numbers) + "}"


def main():
    for name, first, last, ins, outs, least in rows(openvino.Core()):
        print(f'ROW({least}, "{name}", {first}, {last}, {sets(ins)}, {sets(outs)})')


main()
