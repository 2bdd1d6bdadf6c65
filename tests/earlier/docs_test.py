#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The code of the guides, run as it stands: blocks of one page one after the other, each language in one process.

    docs_test.py BUILD PAGE...
"""
import os
import re
import sys
import unittest

from support import BUILD, FolderTest, ROOT

PAGES = sys.argv[1:]
del sys.argv[1:]


def blocks(page):
    """[(language, code)]; neighbours of one language are joined."""
    out = []
    for language, code in re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / f"docs/{page}.md").read_text(), re.M | re.S):
        if out and out[-1][0] == language:
            out[-1][1] += code
        else:
            out.append([language, code])
    return out


class Docs(FolderTest):
    def setUp(self):
        super().setUp()
        for name in ("examples", "scripts", ".deps"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "build").mkdir()
        (self.folder / "build/release").symlink_to(BUILD)
        for name in ("arm64", "models"):
            (self.folder / "build" / name).symlink_to(ROOT / "build" / name)

    def test_every_block_runs(self):
        for page in PAGES:
            with self.subTest(page):
                found = blocks(page)
                self.assertTrue(found)
                if page == "deploy" and not (ROOT / "build/arm64/bin/run_model").exists():
                    print("SKIP: build/arm64 is not built (cmake --preset arm64 && cmake --build build/arm64)", flush=True)
                    continue
                for language, code in found:
                    program = {"python": [sys.executable, "-c"], "sh": ["bash", "-euo", "pipefail", "-c"]}[language]
                    self.done(*program, code, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(BUILD / "python"), "OUT": str(self.folder)})

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)#]+)", (ROOT / f"docs/{page}.md").read_text()):
                self.assertTrue((ROOT / "docs" / link).exists(), (page, link))


if __name__ == "__main__":
    unittest.main()
