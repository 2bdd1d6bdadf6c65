#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium over the DevTools protocol's pipe (file descriptors 3 and 4, messages ended by a zero byte), with
nothing but the standard library, and does what a reader of the page does.

  browser.py PAGE STEPS.json OUT.json

STEPS is a list of {"do": ..., ...}; OUT gets {"values": [...], "errors": [...], "requests": [...]}: a value for each "eval", what
the page reported as wrong, and every address it asked for.
"""
import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

LIMIT = 60  # seconds for one answer


class Browser:
    def __init__(self, program, profile, dark):
        down, self._down = os.pipe()
        self._up, up = os.pipe()

        def wire():
            os.dup2(down, 13)  # first out of the way of 3 and 4
            os.dup2(up, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self._process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        self._numbers = itertools.count(1)
        self._left = b""
        self._session = None
        self.errors, self.requests, self._loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def _receive(self):
        import select
        while b"\0" not in self._left:
            if not select.select([self._up], [], [], LIMIT)[0]:
                raise TimeoutError("the browser does not answer")
            read = os.read(self._up, 1 << 20)
            if not read:
                raise ConnectionError("the browser ended")
            self._left += read
        message, self._left = self._left.split(b"\0", 1)
        message = json.loads(message)
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(given["exceptionDetails"].get("exception", {}).get("description") or given["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        return message

    def call(self, method, **given):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._down, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, address, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._loaded = False
        self.call("Page.navigate", url=address)
        while not self._loaded:
            self._receive()
        self.settle()

    def settle(self):
        """Two frames: what was asked for has been drawn."""
        self.evaluate("new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))")

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if kind != "mouseMoved" else "none", clickCount=1)

    def key(self, name):
        codes = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Escape": 27, "Tab": 9}
        for kind in ("keyDown", "keyUp"):
            given = {"type": kind, "key": name, "windowsVirtualKeyCode": codes.get(name, ord(name[0].upper()))}
            if len(name) == 1 and kind == "keyDown":
                given["text"] = name
            self.call("Input.dispatchKeyEvent", **given)

    def close(self):
        try:
            self._session = None
            self.call("Browser.close")
        except (OSError, ConnectionError, TimeoutError):
            pass
        self._process.wait(20)


def do(browser, step, values):
    kind = step["do"]
    if kind == "eval":
        values.append(browser.evaluate(step["js"]))
    elif kind == "click":  # "at" is an expression that gives [x, y]
        browser.click(*browser.evaluate(step["at"]))
    elif kind == "key":
        browser.key(step["key"])
    elif kind == "type":
        browser.call("Input.insertText", text=step["text"])
    elif kind == "wheel":
        browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=step["x"], y=step["y"], deltaX=0, deltaY=step["by"])
    elif kind == "shot":
        browser.settle()
        picture = browser.call("Page.captureScreenshot", format="png")["data"]
        with open(step["file"], "wb") as out:
            out.write(base64.b64decode(picture))
    else:
        raise ValueError(f"step {kind!r} is not known")
    browser.settle()


def main():
    page, steps_path, out_path = sys.argv[1:4]
    with open(steps_path, encoding="utf-8") as file:
        steps = json.load(file)
    profile = tempfile.mkdtemp(prefix="optima-browser-")
    browser = Browser(shutil.which("chromium"), profile, steps.get("dark", False))
    values = []
    try:
        browser.open("file://" + os.path.abspath(page) + steps.get("hash", ""), steps.get("width", 1440), steps.get("height", 900))
        for step in steps["steps"]:
            do(browser, step, values)
    finally:
        browser.close()
        shutil.rmtree(profile, ignore_errors=True)
    with open(out_path, "w", encoding="utf-8") as out:
        json.dump({"values": values, "errors": browser.errors, "requests": browser.requests}, out)


if __name__ == "__main__":
    main()
