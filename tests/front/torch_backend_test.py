#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.compile(..., backend="optima"): answers are eager's, and what cannot be compiled is said once and runs in torch."""
import concurrent.futures
import subprocess
import sys
import tomllib
import unittest
import warnings
from unittest import mock

import torch

from support import BUILD, ConvAdd, FrontTest, ROOT, conv_add_inputs
import optima
from optima import _weights, torch_backend


def count_runs(test):
    """Runs of packages from here on."""
    runs, run = [], torch_backend.Compiled.run
    patch = mock.patch.object(torch_backend.Compiled, "run", lambda self, args: runs.append(self.package.path) or run(self, args))
    patch.start()
    test.addCleanup(patch.stop)
    return runs


class Backend(FrontTest):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()
        self.runs = count_runs(self)

    def compile(self, module, **options):
        return torch.compile(module, backend="optima", options={"devices": ["X64:0"], **options})

    def warned(self, sentence, call):
        """What the call gives, which warns once of the backend."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
            call()
        said = [str(w.message) for w in caught if "backend optima" in str(w.message)]
        self.assertEqual(len(said), 1, said)
        self.assertIn(sentence, said[0])
        return result

    def test_answers_are_those_of_eager(self):
        module, (x, y) = ConvAdd(), conv_add_inputs()
        compiled = self.compile(module)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            for n in (1, 1, 2, 3, 1):  # from the second size on torch asks with an open size, which one package serves
                a, b = x.repeat(n, 1, 1, 1), y.repeat(n, 1, 1, 1)
                self.assert_close(compiled(a, b), module(a, b))
        self.assertEqual((len(self.runs), len(set(self.runs))), (5, 2))

        def again(_):
            with torch.no_grad():
                return compiled(x, y)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for answer in pool.map(again, range(8)):
                self.assert_close(answer, module(x, y))
        self.assertEqual((len(self.runs), len(set(self.runs))), (13, 2))

    def test_a_larger_module_with_several_outputs_and_an_allocation(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 2, 1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(2048, 10))

            def forward(self, x, scale):
                logits = self.body(x)
                return {"p": logits.softmax(-1), "n": x.shape[0], "ids": logits.argmax(-1), "same": scale, "scaled": logits * scale}
        module = Net().eval()
        x, scale = torch.rand(2, 3, 32, 32), torch.tensor(3.0)
        compiled = self.compile(module, allocation={"*": "X64:0", "op:Softmax": "REF:0"})
        with torch.no_grad():
            got, want = compiled(x, scale), module(x, scale)
        self.assertEqual((list(got), got["n"]), (list(want), 2))
        for name in ("p", "ids", "same", "scaled"):
            self.assert_close(got[name], want[name])
        self.assertEqual(len(self.runs), 1)
        self.assertIn('"REF:0"', (self.runs[0] / "alloc.json").read_text())

    def test_training_runs_in_torch(self):
        module, inputs = ConvAdd(), conv_add_inputs()
        compiled = self.compile(module)
        out = self.warned("gradients are wanted", lambda: compiled(*inputs))
        out.sum().backward()
        self.assertIsNotNone(module.conv.weight.grad)
        self.assertEqual(self.runs, [])

    def test_changed_weights_are_seen_however_they_are_written(self):
        def by_numpy(weight):
            weight.detach().numpy()[0, 0, 1, 1] = 7  # one of many

        def by_storage(weight):
            weight.untyped_storage().copy_((weight.data + 1).untyped_storage())

        def other_storage(weight):
            weight.data = torch.full_like(weight, 0.5)

        for change in (lambda weight: weight.mul_(2), lambda weight: weight.data.fill_(3), other_storage, by_numpy, by_storage):
            torch._dynamo.reset()
            self.runs.clear()
            module, inputs = ConvAdd(), conv_add_inputs()
            compiled = self.compile(module)
            with torch.no_grad():
                compiled(*inputs)
                compiled(*inputs)
                change(module.conv.weight)
                self.assert_close(self.warned("weights were changed", lambda: compiled(*inputs)), module(*inputs))
            self.assertEqual(len(self.runs), 2)

    def test_nobody_reads_the_bytes_of_weights_that_are_not_watched(self):
        module, inputs = ConvAdd(), conv_add_inputs()
        compiled = self.compile(module, watch_weights=False)
        with torch.no_grad(), mock.patch.object(_weights, "checksum") as summed:
            summed.side_effect = lambda ranges: self.assertEqual(ranges, [])
            self.assert_close(compiled(*inputs), module(*inputs))
            module.conv.weight.mul_(2)  # which torch counts
            self.assert_close(self.warned("weights were changed", lambda: compiled(*inputs)), module(*inputs))
        self.assertEqual(len(self.runs), 1)

    def test_sums_of_bytes_know_every_byte(self):
        for checksum in {_weights.checksum, _weights.crc}:
            for size in (0, 1, 7, 8, 63, 64, 200):
                held = bytearray(range(size))
                ranges = [(torch.frombuffer(held, dtype=torch.uint8).data_ptr() if size else 0, size)]
                before = checksum(ranges)
                for i in range(size):
                    held[i] ^= 1
                    self.assertNotEqual(checksum(ranges), before, (size, i))
                    held[i] ^= 1
                self.assertEqual(checksum(ranges), before)

    def test_a_buffer_with_gaps_is_watched_to_its_last_element(self):
        whole = torch.arange(12.).reshape(3, 4)
        self.assertEqual(_weights.range_of(whole[:, 1:3]), (whole.data_ptr() + 4, 4 * 10))
        self.assertEqual(_weights.range_of(whole[:0])[1], 0)
        held, square = _weights.Weights([whole], [0]), whole[:, :3]
        self.assertTrue(held.are_in([whole]))
        self.assertFalse(_weights.Weights([square], [0]).are_in([square.t()]))  # the same bytes in another order
        self.assertEqual(_weights.range_of(whole.expand(2, 3, 4))[1], 48)

    def test_bfloat16_in_and_out(self):
        x, image = torch.rand(2, 8).bfloat16(), torch.rand(1, 3, 8, 8).bfloat16()
        deep = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 5)).bfloat16()
        inside = lambda x: (x.bfloat16() * 2).float()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            for module, given in ((torch.nn.Linear(8, 4).bfloat16(), x), (deep, image), (lambda x: x.bfloat16(), x.float()), (inside, x.float())):
                self.assert_close(self.compile(module)(given), module(given), 1e-2)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                self.assert_close(self.compile(torch.nn.Linear(8, 4))(x.float()), torch.nn.Linear(8, 4)(x.float()), 10)  # of its type
        self.assertEqual(len(self.runs), 5)

    def test_complex_numbers_run_in_torch(self):
        x, z = torch.rand(3, 8), torch.fft.rfft(torch.rand(3, 8))
        with torch.no_grad():
            out = self.compile(lambda x: torch.fft.rfft(x))
            self.assertTrue(torch.equal(self.warned("a result is torch.complex64", lambda: out(x)), torch.fft.rfft(x)))
            into = self.compile(lambda z: z.abs())
            self.assertTrue(torch.equal(self.warned("an input is torch.complex64", lambda: into(z)), z.abs()))
        self.assertEqual(self.runs, [])

    def test_recurrent_layers_are_compiled(self):
        class Last(torch.nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.layer, self.head = kind(8, 16, batch_first=True), torch.nn.Linear(16, 3)

            def forward(self, x):
                return self.head(self.layer(x)[0][:, -1])
        x = torch.rand(2, 6, 8)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
                module = Last(kind).eval()
                self.assert_close(self.compile(module)(x), module(x))
        self.assertEqual(len(self.runs), 3)

    def test_a_compiled_module_within_an_exported_one_is_a_part_of_it(self):
        x = torch.rand(2, 8)
        module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
        with torch.no_grad():
            compiled = self.compile(module)
            compiled(x)

            class Outer(torch.nn.Module):
                def forward(self, x):
                    return compiled(x) + 1
            (got,) = optima.compile(Outer(), x, devices="X64:0").run(x=x).values()
        self.assert_close(got, module(x) + 1)
        self.assertEqual(len(self.runs), 1)

    def test_what_cannot_be_compiled_runs_in_torch(self):
        x = torch.rand(4, 4)

        class Writes(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", torch.zeros(()))

            def forward(self, x):
                self.seen.add_(1)
                return x + self.seen
        module = Writes()
        compiled = self.compile(module)
        with torch.no_grad():
            self.assert_close(self.warned("it writes to an input or a buffer", lambda: compiled(x)), x + 1)
            self.assertEqual(module.seen.item(), 2)
            inverse = self.compile(lambda x: torch.linalg.inv(x))
            self.assert_close(self.warned("it cannot be exported", lambda: inverse(x)), torch.linalg.inv(x))
            no_device = torch.compile(lambda x: torch.relu(x), backend="optima", options={"devices": ["VPU:0"]})
            self.assert_close(self.warned("no plugin serves kind 'VPU'", lambda: no_device(x)), x)
            e5m2 = x.to(torch.float8_e5m2)
            widened = self.compile(lambda x: x.float())
            self.assert_close(self.warned("an input is torch.float8_e5m2", lambda: widened(e5m2)), e5m2.float())
            narrowed = self.compile(lambda x: x.to(torch.float8_e5m2))
            self.assert_close(self.warned("a result is torch.float8_e5m2", lambda: narrowed(x)).float(), e5m2.float())
            drop = self.compile(torch.nn.Dropout(0.5))
            self.warned("runs in torch", lambda: drop(x))
        self.assertEqual(self.runs, [])

    def dynamic(self, module, options=None):
        return torch.compile(module, backend="optima", options={"devices": ["X64:0"], **(options or {})}, dynamic=True)

    def test_one_package_serves_all_open_sizes(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.head = torch.nn.LayerNorm(8, eps=1e-3), torch.nn.Linear(8, 5)  # torch hands an epsilon over as a tensor

            def forward(self, x, other):
                rows = x.shape[0]
                return {"y": self.head(self.norm(x)).softmax(-1) * rows, "flat": torch.cat([x, other], 1).reshape(-1), "rows": rows, "both": rows * 2 + other.shape[1], "seven": 7}
        net = Net().eval()
        compiled = self.dynamic(net)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            for rows, columns in ((2, 4), (3, 7), (31, 2), (2, 4)):
                x, other = torch.rand(rows, 8), torch.rand(rows, columns)
                got, want = compiled(x, other), net(x, other)
                for name in ("y", "flat"):
                    self.assert_close(got[name], want[name])
                self.assertEqual([got[name] for name in ("rows", "both", "seven")], [want[name] for name in ("rows", "both", "seven")])
        self.assertEqual((len(self.runs), len(set(self.runs))), (4, 1))

    def test_a_number_of_pythons_is_part_of_a_package(self):
        class Scaled(torch.nn.Module):
            def forward(self, x, by):
                return x * by
        compiled = self.dynamic(Scaled())
        with torch.no_grad():
            for by in (0.5, 1.5, 0.5):
                x = torch.rand(3, 4)
                self.assert_close(compiled(x, by), x * by)

    def test_where_open_sizes_cannot_be_each_set_of_sizes_has_a_package(self):
        compiled = self.dynamic(lambda x, n: x * n)  # no dim of a tensor is n
        with torch.no_grad():
            for n in (2, 3, 2):
                self.assert_close(compiled(torch.ones(3, 4), n), torch.ones(3, 4) * n)
        self.assertEqual((len(self.runs), len(set(self.runs))), (3, 2))

    def test_a_graph_has_a_bounded_number_of_packages(self):
        with mock.patch.object(torch_backend, "SIZES", 1), torch.no_grad():
            compiled = self.dynamic(lambda x, n: torch.relu(x) + n)
            compiled(torch.rand(3, 4), 2)
            self.warned("compiled for 1 sets of sizes already", lambda: compiled(torch.rand(3, 4), 3))
        self.assertEqual(len(self.runs), 1)

    def test_torch_finds_the_backend_of_the_installed_wheel(self):
        entries = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]["entry-points"]["torch_dynamo_backends"]
        info = self.folder / "optima-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: optima\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text("[torch_dynamo_backends]\n" + "".join(f"{name} = {to}\n" for name, to in entries.items()))
        code = "import torch, sys\nassert 'optima.torch_backend' not in sys.modules\nwith torch.no_grad(): print(torch.compile(torch.relu, backend='optima')(torch.tensor([-1., 2.])))"
        path = [str(self.folder), *[p for p in sys.path if "python" in p]]
        ran = subprocess.run([sys.executable, "-B", "-c", f"import sys; sys.path[:0] = {path!r}\n{code}"], capture_output=True, text=True)
        self.assertEqual(ran.stdout.strip(), "tensor([0., 2.])", ran.stderr)
        self.assertNotIn("runs in torch", ran.stderr)


if __name__ == "__main__":
    unittest.main()
