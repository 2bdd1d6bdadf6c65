#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.serve, asked by tritonclient and by plain HTTP: answers, batches, bad input, limits, the end."""
import concurrent.futures
import gzip
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading

import gevent
import numpy as np
import tritonclient.http as triton
from support import CLASSIFIER, DIGITS, ENDLESS, GIVEN, HEAD, LOOKUP, ROWS, SLOW, WIDE, PackageTest, Process, open_digits, run_page, unittest

import optima
from optima import run_package, scale
from optima.package import Package


def inputs_of(arrays, binary=True):
    made = []
    for name, array in arrays.items():
        kind = {"float32": "FP32", "int64": "INT64"}[array.dtype.name]
        made.append(triton.InferInput(name, list(array.shape), kind))
        made[-1].set_data_from_numpy(array, binary_data=binary)
    return made


class ServeTest(PackageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = cls.package(ROWS, "--device", "REF:0", name="rows")
        cls.lookup = cls.package(LOOKUP, "--device", "REF:0", name="lookup")
        cls.digits = cls.package(DIGITS / "digits.onnx", "--alloc", DIGITS / "alloc_reference.json", name="digits")
        cls.slow = cls.package(SLOW, "--device", "REF:0", "--alloc", cls.host_driven(), name="slow")
        cls.endless = cls.package(ENDLESS, "--device", "REF:0", "--alloc", cls.host_driven(), name="endless")

    @classmethod
    def host_driven(cls):
        path = cls.folder / "host.json"
        path.write_text('{"op:Loop": "host"}')
        return path

    def server(self, *packages, **settings):
        server = optima.serve.Server([str(p) for p in packages], port=0, **settings)
        self.enterContext(server)
        return server

    def client(self, server, concurrency=1):
        client = triton.InferenceServerClient(f"127.0.0.1:{server.port}", concurrency=concurrency)
        self.addCleanup(client.close)
        return client

    @staticmethod
    def ask(port, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def metric(self, server, line):
        text = self.ask(server.port, "GET", "/metrics")[1].decode()
        found = re.search(f"^{re.escape(line)} ([0-9.e+]+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0


class Answers(ServeTest):
    def test_what_is_served_is_told(self):
        client = self.client(self.server(self.digits, f"two={self.rows}"))
        self.assertTrue(client.is_server_live() and client.is_server_ready() and client.is_model_ready("digits") and client.is_model_ready("two", "1"))
        self.assertEqual(client.get_server_metadata()["extensions"], ["binary_tensor_data"])
        told = client.get_model_metadata("two")
        self.assertEqual(told["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}, {"name": "k", "datatype": "INT64", "shape": [-1, 2]}])
        self.assertEqual([m["name"] for m in client.get_model_repository_index()], ["digits", "two"])
        self.assertFalse(client.is_model_ready("three"))

    def test_bytes_and_lists_give_what_the_package_gives(self):
        client = self.client(self.server(self.digits))
        image = np.random.default_rng(1).random((1, 1, 32, 32), np.float32)
        want = Package(self.digits).run(image=image)["probability"]
        for sent in (True, False):
            for wanted in (True, False):
                for packed in (None, "gzip"):
                    outputs = [triton.InferRequestedOutput("probability", binary_data=wanted)]
                    got = client.infer("digits", inputs_of({"image": image}, sent), outputs=outputs, request_id="r7", request_compression_algorithm=packed)
                    self.assertEqual(got.as_numpy("probability").tobytes(), want.tobytes(), (sent, wanted, packed))
                    self.assertEqual((got.get_response()["id"], got.get_response()["model_version"]), ("r7", "1"))
        self.assertEqual(client.infer("digits", inputs_of({"image": image})).as_numpy("probability").tobytes(), want.tobytes())

    def test_joined_requests_get_their_own_rows(self):
        server = self.server(self.rows, batch=8, delay_us=20000)
        alone, random = run_package.load_here(Package(self.rows)), np.random.default_rng(2)
        asked = [{"x": random.random((1 + i % 3, 4), np.float32), "k": random.integers(-9, 9, (1 + i % 3, 2))} for i in range(240)]
        with concurrent.futures.ThreadPoolExecutor(12) as threads:
            clients = threading.local()

            def one(arrays):
                if not hasattr(clients, "own"):
                    clients.own = triton.InferenceServerClient(f"127.0.0.1:{server.port}")
                got = clients.own.infer("rows", inputs_of(arrays))
                return {name: got.as_numpy(name) for name in ("y", "j")}
            for arrays, got in zip(asked, threads.map(one, asked)):
                for name, want in alone.run(arrays).items():
                    self.assertEqual(got[name].tobytes(), want.tobytes())
        runs = self.metric(server, 'optima_batch_rows_count{model="rows"}')
        self.assertEqual(self.metric(server, 'optima_batch_rows_sum{model="rows"}'), sum(len(a["x"]) for a in asked))
        self.assertEqual(self.metric(server, 'optima_batch_rows_bucket{le="8.0",model="rows"}'), runs)
        self.assertLess(runs, len(asked))
        self.assertEqual(self.metric(server, 'optima_requests_total{model="rows"}'), len(asked))
        self.assertEqual(self.metric(server, 'optima_latency_seconds_count{model="rows"}'), len(asked))
        self.assertEqual(self.metric(server, 'optima_waiting{model="rows"}'), 0)

    def test_a_classifier_whose_batch_is_behind_a_reshape_is_joined(self):
        package = self.package(CLASSIFIER, "--device", "X64:0", name="classifier")
        alone, random = run_package.load_here(Package(package)), np.random.default_rng(5)
        asked = [{"x": random.random((1, 3, 4, 4), np.float32)} for _ in range(4)]
        server = self.server(package, batch=4, delay_us=10_000_000)  # four rows fill the batch long before
        client = self.client(server, 4)
        for arrays, wait in zip(asked, [client.async_infer("classifier", inputs_of(arrays)) for arrays in asked]):
            self.assertEqual(wait.get_result().as_numpy("y").tobytes(), alone.run(arrays)["y"].tobytes())
        self.assertEqual(self.metric(server, 'optima_batch_rows_count{model="classifier"}'), 1)
        rows = np.concatenate([arrays["x"] for arrays in asked])
        self.assertEqual(scale.BatchPredictor(package)({"x": rows})["y"].tobytes(), alone.run({"x": rows})["y"].tobytes())

    def test_a_bad_row_fails_its_own_request_alone(self):
        server = self.server(self.lookup, batch=4, delay_us=10_000_000)  # four rows fill the batch long before
        client = self.client(server, 4)
        waits = [client.async_infer("lookup", inputs_of({"i": np.array([i], np.int64)})) for i in (0, 1, 77, 2)]
        for wait, want in zip(waits, ([0, 1], [10, 11], None, [20, 21])):
            if want:
                self.assertEqual(wait.get_result().as_numpy("y").tolist(), [want])
            else:
                with self.assertRaises(triton.InferenceServerException) as caught:
                    wait.get_result()
                self.assertIn("77", str(caught.exception))
        self.assertEqual(self.metric(server, 'optima_batch_rows_bucket{le="4.0",model="lookup"}'), 5)  # together, then each
        self.assertEqual(self.metric(server, 'optima_batch_rows_sum{model="lookup"}'), 8)

    def test_a_model_without_a_batch_is_told_of_and_runs_alone(self):
        with self.assertLogs("optima", "WARNING") as said:
            server = self.server(self.digits, batch=4)
        self.assertEqual([r.getMessage() for r in said.records],
                         ["requests of model 'digits' are not joined: first dims of its inputs and outputs are [1], wanted one open dim of one name"])
        image = np.zeros((1, 1, 32, 32), np.float32)
        client = self.client(server, 4)
        for wait in [client.async_infer("digits", inputs_of({"image": image})) for _ in range(4)]:
            self.assertEqual(wait.get_result().as_numpy("probability").shape, (1, 10))
        self.assertEqual(self.metric(server, 'optima_batch_rows_bucket{le="1.0",model="digits"}'), 4)

    def test_the_page_is_right(self):
        run_page(self, "serve.md", 1)


class OnTheProcessor(ServeTest):
    """Trained models of an open batch on llvm_cpu, asked by many at a time: each answer is to the bit that of its rows alone."""

    def joined(self, package, samples):
        """Asks a server that joins for all samples, by twelve threads; gives how many runs that were."""
        model = Package(package)
        (port,), (made,) = model.inputs, model.outputs
        server, clients = self.server(package, batch=16, delay_us=20000), threading.local()
        want = [model.run({port["name"]: sample})[made["name"]] for sample in samples]

        def one(sample):
            if not hasattr(clients, "own"):
                clients.own = triton.InferenceServerClient(f"127.0.0.1:{server.port}")
            return clients.own.infer(model.name, inputs_of({port["name"]: sample})).as_numpy(made["name"])
        with concurrent.futures.ThreadPoolExecutor(12) as threads:
            for got, expected in zip(threads.map(one, samples), want):
                self.assertEqual((got.shape, got.tobytes()), (expected.shape, expected.tobytes()))
        rows, runs = (self.metric(server, f'optima_batch_rows_{of}{{model="{model.name}"}}') for of in ("sum", "count"))
        self.assertEqual(rows, sum(map(len, samples)))
        self.assertEqual(self.metric(server, f'optima_batch_rows_bucket{{le="16.0",model="{model.name}"}}'), runs)
        return runs

    def test_digits(self):
        package = self.package(open_digits(self.folder / "any.onnx"), "--device", "X64:0", name="any")
        random = np.random.default_rng(5)
        samples = [random.random((1 + i % 5, 1, 32, 32), np.float32) for i in range(400)]
        self.assertLess(self.joined(package, samples), len(samples))

    def test_a_model_of_three_open_dims(self):
        """Rows of one size are joined with each other alone."""
        if not (GIVEN / "ocr_cls.onnx").exists():
            print("SKIP: ../shared/models/dynamic/ocr_cls.onnx is not there", flush=True)
            return
        package = self.package(GIVEN / "ocr_cls.onnx", "--device", "X64:0", name="upright")
        random = np.random.default_rng(6)
        samples = [random.standard_normal((1 + i % 2, 3, 48, 96 + 32 * (i % 3)), np.float32) for i in range(60)]
        self.assertLess(self.joined(package, samples), len(samples))


class BadInput(ServeTest):
    def test_each_gets_its_sentence(self):
        server = self.server(self.rows, max_body=10000)
        x, k = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}, {"name": "k", "datatype": "INT64", "shape": [1, 2], "data": [1, 2]}
        good = {"inputs": [x, k]}
        path = "/v2/models/rows/infer"
        cases = [
            (404, "/v2/models/nobody/infer", good, "there is no model 'nobody', wanted one of 'rows'"), (404, "/v2/models/rows/versions/7/infer", good, "has no version '7'"),
            (404, "/v1", good, "there is nothing at '/v1'"), (405, "/v2", good, "does not take POST"),
            (400, path, b"{", "the request is no JSON"), (400, path, [], "has no list 'inputs'"), (400, path, {"inputs": [3]}, "an input has no 'name'"),
            (400, path, {"inputs": [x]}, "input 'k' is missing"), (400, path, {"inputs": [x, x, k]}, "input 'x' is given twice"),
            (400, path, {"inputs": [x, k, {**x, "name": "z"}]}, "no input 'z'"), (400, path, {"inputs": [{**x, "datatype": "FP31"}, k]}, "has datatype 'FP31'"),
            (400, path, {"inputs": [{**x, "shape": [1, -4]}, k]}, "has shape [1, -4]"), (400, path, {"inputs": [{**x, "shape": [2, 2]}, k]}, "input 'x': found float32[2, 2]"),
            (400, path, {"inputs": [{**x, "data": [1, 2, 3]}, k]}, "has 3 elements, wanted 4"), (400, path, {"inputs": [{**x, "data": [[1, 2], [3]]}, k]}, "lists of different lengths"),
            (400, path, {"inputs": [{**x, "data": ["a", "b", "c", "d"]}, k]}, "elements that are no FP32"), (400, path, {"inputs": [x, {**k, "data": [0.5, 1]}]}, "elements that are no INT64"),
            (400, path, {"inputs": [x, {**k, "data": [2**70, 1]}]}, "elements that are no INT64"), (400, path, {"inputs": [x, {**k, "datatype": "INT8", "data": [300, 1]}]}, "numbers beyond INT8"),
            (400, path, {"inputs": [x, {**k, "parameters": {"binary_data_size": 16}}]}, "has both data and binary_data_size"),
            (400, path, {"inputs": [x, {**k, "datatype": "INT32"}]}, "input 'k': found int32[1, 2], wanted int64"),
            (400, path, {**good, "outputs": [{"name": "q"}]}, "no output 'q', wanted 'y', 'j'"), (400, path, {**good, "id": 4}, "'id' is no string"),
            (413, path, b" " * 10001, "larger than 10000 bytes"), (400, path, b"[" * 9000, "the request is no JSON"),
            (400, path, {"inputs": [{**x, "data": [1e39, 2, 3, 4]}, k]}, "has numbers beyond FP32, wanted finite ones"),
            (400, path, {"inputs": [{**x, "datatype": "FP16", "data": [1e6, 2, 3, 4]}, k]}, "has numbers beyond FP16, wanted finite ones"),
            (400, path, {"inputs": [{**x, "data": [float("nan"), 2, 3, 4]}, k]}, "NaN is no number of JSON"),
            (400, path, {"inputs": [x, {**k, "data": [2**64 - 1, 1]}]}, "numbers beyond INT64"), (400, path, {"inputs": [x, {**k, "datatype": "UINT64", "data": [2**63, -1]}]}, "no UINT64"),
            (400, path, {"inputs": [{**x, "parameters": {"shared_memory_region": "r", "shared_memory_byte_size": 16}}, k]}, "input 'x' has parameter 'shared_memory_region'"),
            (400, path, {**good, "outputs": [{"name": "y", "parameters": {"shared_memory_region": "r"}}]}, "output 'y' has parameter 'shared_memory_region', and shared memory is not served"),
        ]
        for status, where, body, sentence in cases:
            got, text = self.ask(server.port, "POST", where, body if isinstance(body, bytes) else json.dumps(body))
            self.assertEqual(got, status, (sentence, text))
            error = json.loads(text)["error"]
            self.assertIn(sentence, error)
            self.assertNotIn("\n", error)
        self.assertEqual(self.ask(server.port, "POST", path, json.dumps(good))[0], 200)
        bad = sum(where == path and status == 400 for status, where, *_ in cases)
        self.assertEqual(self.metric(server, 'optima_failures_total{model="rows",status="400"}'), bad)

    def test_packed_bodies_that_cannot_be_unpacked(self):
        server, path = self.server(self.rows, max_body=10000), "/v2/models/rows/infer"
        for status, packing, body, sentence in ((400, "gzip", b"not gzip", "body cannot be read: Can not decode content-encoding: gzip"), (415, "zz", b"{}", "Content-Encoding 'zz', wanted identity, gzip, deflate"),
                                                (413, "gzip", gzip.compress(b" " * 10001), "larger than 10000 bytes"), (400, "gzip", gzip.compress(b" " * 100), "the request is no JSON")):
            with self.assertNoLogs("aiohttp"):
                got, text = self.ask(server.port, "POST", path, body, {"Content-Encoding": packing})
                self.assertEqual(self.ask(server.port, "GET", "/v2")[0], 200)
            self.assertEqual(got, status, text)
            self.assertIn(sentence, json.loads(text)["error"])

    def test_what_is_no_request_is_answered_as_json_too(self):
        server = self.server(self.rows)
        for path, headers in (("/v2/models/" + "a" * 9000, {}), ("/v2", {"X": "a" * 20000}), ("/v2", {"Content-Length": "-5"})):
            got, text = self.ask(server.port, "GET", path, None, headers)
            self.assertEqual(got, 400, text)
            error = json.loads(text)["error"]
            self.assertTrue(error.startswith("the request cannot be read as HTTP: ") and len(error) < 300 and "\n" not in error, error)

    def test_numbers_of_64_bits_come_as_lists(self):
        server = self.server(self.package(HEAD + "u (uint64[2] x) => (uint64[2] y) { y = Identity(x) }", "--device", "REF:0", name="u"))
        for numbers in ([2**64 - 1, 1], [0, 2**63], [2**63, 2**64 - 1], [0, 1]):
            got, text = self.ask(server.port, "POST", "/v2/models/u/infer", json.dumps({"inputs": [{"name": "x", "datatype": "UINT64", "shape": [2], "data": numbers}]}))
            self.assertEqual(got, 200, text)
            self.assertEqual(json.loads(text)["outputs"][0]["data"], numbers)

    def test_bytes_that_do_not_fit(self):
        server = self.server(self.rows)
        k = {"name": "k", "datatype": "INT64", "shape": [1, 2], "data": [1, 2]}
        head = lambda size, **more: json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": {"binary_data_size": size}, **more}, k]}).encode()
        for size, data, length, sentence in ((16, 15, None, "the request ends inside input 'x': 15 bytes are left"), (15, 15, None, "has 15 bytes, wanted 16"),
                                             (16, 17, None, "has 1 bytes more than its inputs say"), (16, 16, "99999", "wanted a number of bytes up to"),
                                             (16, 16, "-1", "wanted a number of bytes up to"), (True, 16, None, "has True bytes, wanted 16")):
            body = head(size)
            got, text = self.ask(server.port, "POST", "/v2/models/rows/infer", body + bytes(data), {"Inference-Header-Content-Length": length or str(len(body))})
            self.assertEqual(got, 400, text)
            self.assertIn(sentence, json.loads(text)["error"])

    def test_what_json_does_not_hold_is_said(self):
        nan = self.package('<ir_version: 10, opset_import: ["" : 21]>\nnan (float[2] x) => (float[2] y) { y = Log(x) }', "--device", "REF:0", name="nan")
        client = self.client(self.server(nan))
        asked = inputs_of({"x": np.array([-1, 1], np.float32)})
        self.assertTrue(np.isnan(client.infer("nan", asked).as_numpy("y")[0]))
        with self.assertRaisesRegex(triton.InferenceServerException, "output 'y' has infinities or NaN"):
            client.infer("nan", asked, outputs=[triton.InferRequestedOutput("y", binary_data=False)])

    def test_servers_that_do_not_begin(self):
        for words, code, sentence in ((["/nowhere"], 3, "'/nowhere' is no package"), ([self.rows, self.rows], 2, "two packages are called 'rows'"),
                                      ([self.rows, "--batch", "0"], 2, "batch is 0, wanted 1 to"), ([f"a/b={self.rows}"], 2, "cannot be part of an address"),
                                      ([self.rows, "--host", "203.0.113.9"], 5, "cannot listen on 203.0.113.9:8000")):
            done = subprocess.run([sys.executable, "-B", "-m", "optima.serve", *map(str, words)], capture_output=True, text=True)
            self.assertTrue(done.stderr.startswith("optima.serve: error: "), done.stderr)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(sentence, done.stderr.removeprefix("optima.serve: error: "))
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_too_many_requests_are_refused(self):
        asked = inputs_of({"x": np.ones(2, np.float32)})
        with optima.serve.Server([self.endless], port=0, queue=1, drain=0) as server:
            client = self.client(server, 2)
            first = client.async_infer("endless", asked)
            while not self.metric(server, 'optima_waiting{model="endless"}'):
                gevent.sleep(0.01)
            with self.assertRaisesRegex(triton.InferenceServerException, "1 requests under way"):
                client.infer("endless", asked)
        with self.assertRaisesRegex(triton.InferenceServerException, r"\[503\] (interrupted|the server is shutting down)"):  # drain is 0: what has no end is cancelled
            first.get_result()


class SlowClients(ServeTest):
    PATH = "/v2/models/rows/infer"
    GOOD = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}, {"name": "k", "datatype": "INT64", "shape": [1, 2], "data": [1, 2]}]})

    def begun(self, port, size=500):
        """A connection with one byte of a request of so many."""
        made = socket.create_connection(("127.0.0.1", port))
        self.addCleanup(made.close)
        made.sendall(f"POST {self.PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n{{".encode())
        return made

    @staticmethod
    def answer_on(connection):
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, json.loads(answer.read())["error"]

    def test_a_body_that_does_not_come_is_not_waited_for(self):
        server = self.server(self.rows, client_timeout=.05)
        connection = self.begun(server.port)
        self.assertEqual(self.answer_on(connection), (408, "the request's body did not come within 0.05 seconds, wanted it whole by then"))
        self.assertEqual(self.metric(server, 'optima_failures_total{model="rows",status="408"}'), 1)

    def test_bodies_that_still_come_are_counted_and_clients_that_leave_are_no_failure_of_the_server(self):
        with self.assertNoLogs("aiohttp"), self.assertNoLogs("optima"):
            server = self.server(self.rows, queue=2)
            slow = [self.begun(server.port, 50 << 20) for _ in range(2)]
            while self.metric(server, 'optima_waiting{model="rows"}') < 2:
                gevent.sleep(0.01)
            self.assertEqual(self.answer_on(self.begun(server.port, 50 << 20)), (503, "model 'rows' has 2 requests under way, wanted fewer than that: try again later"))
            for connection in slow:
                connection.close()
            while self.metric(server, 'optima_waiting{model="rows"}'):
                gevent.sleep(0.01)
            self.assertEqual(self.metric(server, 'optima_failures_total{model="rows",status="499"}'), 2)
            self.assertEqual(self.ask(server.port, "POST", self.PATH, self.GOOD)[0], 200)

    def test_the_end_does_not_wait_for_them(self):
        process = Process(self, self.rows, self.package(WIDE, "--device", "REF:0", name="wide"), "--port", "0", "--drain", "0")
        port = int(process.address.rpartition(":")[2])
        slow, deaf = self.begun(port), socket.socket()
        self.addCleanup(deaf.close)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", port))
        head = json.dumps({"parameters": {"binary_data_output": True}, "inputs": [{"name": n, "datatype": "FP32", "shape": s, "parameters": {"binary_data_size": 4 * s[0] * s[1]}}
                                                                                 for n, s in (("x", [2000, 1]), ("z", [1, 4096]))]}).encode()
        body = head + bytes(4 * (2000 + 4096))
        deaf.sendall(f"POST /v2/models/wide/infer HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: {len(head)}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        while True:  # until one is being read, the other answered with more than the connection holds
            text = self.ask(port, "GET", "/metrics")[1].decode()
            if 'optima_waiting{model="rows"} 1.0' in text and 'optima_latency_seconds_count{model="wide"} 1.0' in text:
                break
        self.assertIn('optima_waiting{model="wide"} 1.0', text)
        process.child.send_signal(signal.SIGTERM)
        self.assertEqual(self.answer_on(slow), (503, "the server is shutting down, wanted another one"))
        self.assertEqual(process.child.wait(60), 0)
        self.assertEqual(process.child.stdout.read().splitlines(), ["optima.serve: finishes 2 requests", "optima.serve: cancels 2 requests that did not end in 0.0 seconds"])

    def test_a_second_signal_ends_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = Process(self, self.rows, "--port", "0", "--drain", "80000", "--client-timeout", "80000")
            port = int(process.address.rpartition(":")[2])
            self.begun(port)
            while 'optima_waiting{model="rows"} 1.0' not in self.ask(port, "GET", "/metrics")[1].decode():
                gevent.sleep(0.01)
            process.child.send_signal(signal.SIGTERM)
            self.assertIn("finishes 1 requests", process.child.stdout.readline())
            process.child.send_signal(number)
            self.assertEqual(process.child.wait(60), 128 + number)
            self.assertIn("ends at once, with 1 requests under way", process.child.stdout.readline())


class End(ServeTest):
    def waiting(self, process, name, count):
        port = int(process.address.rpartition(":")[2])
        while f'optima_waiting{{model="{name}"}} {count}.0' not in self.ask(port, "GET", "/metrics")[1].decode():
            self.assertIsNone(process.child.poll())
            gevent.sleep(0.01)  # tritonclient sends when gevent's loop runs

    def test_sigterm_finishes_what_runs(self):
        process = Process(self, self.slow, "--port", "0", "--workers", "2")
        client = triton.InferenceServerClient(process.address, concurrency=3)
        asked = inputs_of({"trips": np.array(100_000, np.int64), "x": np.array([1, 2], np.float32)})
        waits = [client.async_infer("slow", asked) for _ in range(3)]
        self.waiting(process, "slow", 3)
        process.child.send_signal(signal.SIGTERM)
        said = process.child.stdout.readline()
        self.assertRegex(said, "finishes [123] requests")
        with self.assertRaises(OSError):  # nobody listens any more
            self.ask(int(process.address.rpartition(":")[2]), "GET", "/v2")
        for wait in waits:
            self.assertEqual(wait.get_result().as_numpy("y").tolist(), [1, 2])
        client.close()
        self.assertEqual(process.child.wait(), 0)

    def test_a_killed_server_answers_nothing_wrong_and_begins_again(self):
        process = Process(self, self.endless, self.rows, "--port", "0")
        client = triton.InferenceServerClient(process.address, concurrency=2)
        waits = [client.async_infer("endless", inputs_of({"x": np.ones(2, np.float32)})) for _ in range(2)]
        self.waiting(process, "endless", 2)
        process.child.kill()
        for wait in waits:
            with self.assertRaises(Exception):
                wait.get_result()
        client.close()
        again = Process(self, self.rows, "--port", process.address.rpartition(":")[2])
        self.assertEqual(again.address, process.address)
        arrays = {"x": np.ones((1, 4), np.float32), "k": np.array([[3, 4]])}
        client = triton.InferenceServerClient(again.address)
        self.assertEqual(client.infer("rows", inputs_of(arrays)).as_numpy("j").tolist(), [[6, 8]])
        client.close()


if __name__ == "__main__":
    unittest.main()
