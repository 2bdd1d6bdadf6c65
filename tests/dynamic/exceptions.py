# SPDX-License-Identifier: Apache-2.0
"""The lines of exceptions.txt that concern a device."""
import pathlib

FILE = pathlib.Path(__file__).with_name("exceptions.txt")


def of(device):
    """{(model, size): (reason, whether it always holds)} of the plugin in PLUGIN/KIND:n."""
    plugin, found = device.split("/")[0], {}
    for number, line in enumerate(FILE.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        words = line.split(" ", 3)
        if len(words) < 4:
            raise ValueError(f"{FILE.name}:{number}: {line!r}, wanted plugin, model, size and reason")
        if words[0].rstrip("?") == plugin:
            found[words[1], words[2]] = words[3], not words[0].endswith("?")
    return found
