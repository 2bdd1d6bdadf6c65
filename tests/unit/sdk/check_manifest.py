#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validates a manifest against sdk/manifest.schema.json: with the checker below, and with the jsonschema package where it is
installed; the two must agree. Prints what is wrong. Exit 0 valid, 7 not, 1 when the two disagree.

    check_manifest.py SCHEMA MANIFEST
"""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "default", "type", "properties", "required", "additionalProperties", "items",
         "prefixItems", "minItems", "maxItems", "uniqueItems", "enum", "const", "pattern", "minLength", "maxLength", "minimum"} | {"maximum"}


def wrong(schema, value, root, at="manifest"):
    """Yields a sentence per violation. Knows the keywords that the schema uses, and refuses others."""
    if schema is True:
        return
    unknown = set(schema) - KNOWN
    if unknown:
        raise SystemExit(f"the schema uses {sorted(unknown)}, which this checker does not know")
    if "$ref" in schema:
        yield from wrong(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, root, at)
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind in ("integer", "number") and isinstance(value, bool))):
        yield f"{at} is not of type {kind}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at} is {value!r}, wanted {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is {value!r}, wanted one of {schema['enum']}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{at} is {value!r}, wanted {schema['pattern']}"
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{at} has {len(value)} characters"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            yield f"{at} is {value}"
    if isinstance(value, list):
        yield from wrong_list(schema, value, root, at)
    if isinstance(value, dict):
        yield from wrong_object(schema, value, root, at)


def wrong_list(schema, value, root, at):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{at} has {len(value)} entries"
    if schema.get("uniqueItems") and len({json.dumps(v) for v in value}) != len(value):
        yield f"{at} has an entry twice"
    first = schema.get("prefixItems", [])
    for k, item in enumerate(value):
        yield from wrong(first[k] if k < len(first) else schema.get("items", True), item, root, f"{at}[{k}]")


def wrong_object(schema, value, root, at):
    for name in schema.get("required", []):
        if name not in value:
            yield f"{at} lacks {name!r}"
    for name, member in value.items():
        if name in schema.get("properties", {}):
            yield from wrong(schema["properties"][name], member, root, f"{at}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{at} has unknown {name!r}"


def main():
    schema, manifest = (json.load(open(path)) for path in sys.argv[1:3])
    mistakes = list(wrong(schema, manifest, schema))
    print("\n".join(mistakes) or "valid")
    try:
        import jsonschema
    except ImportError:
        print("checked without the jsonschema package, which is not installed")
    else:
        validator = jsonschema.Draft202012Validator
        validator.check_schema(schema)
        theirs = [e.message for e in validator(schema).iter_errors(manifest)]
        if bool(theirs) != bool(mistakes):
            print("jsonschema disagrees:", theirs)
            return 1
        print("jsonschema agrees")
    return 7 if mistakes else 0


sys.exit(main())
