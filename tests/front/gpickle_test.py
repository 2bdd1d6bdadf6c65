#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.gpickle: graphs of every pickle protocol are read, and nothing that a file asks for is run."""
import bz2
import codecs
import collections
import copyreg
import datetime
import decimal
import fractions
import gzip
import io
import os
import pathlib
import pickle
import pickletools
import struct
import sys
import types
import unittest
import uuid
import zipfile
from unittest import mock

import networkx
import numpy as np

from support import FrontTest
from optima import gpickle
from optima._gpickle_machine import CONSTANTS, ARGUMENTS, OUTSIDE, Machine, Record

P = b"\x80\x04"  # PROTO 4
RUN = []  # what attacks append to when they get through


def mark(*args):
    RUN.append(args)
    return {}


def short(text):
    return b"\x8c" + bytes([len(text)]) + text.encode()


def name(module, attribute):
    """Opcodes that push module.attribute."""
    return short(module) + short(attribute) + b"\x93"


class Calls:
    """Pickles as the call of a function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def graph_with(value):
    graph = networkx.DiGraph()
    graph.add_node("conv2d_2", data={"kind": "OpNode", "attributes": [{"deep": (value,)}]})
    return graph


def bomb(depth, rest):
    """memo <depth>: a tuple that unfolds into 2**depth, each level holding the one before twice; then the rest."""
    return P + b")\x940" + b"".join(b"h%ch%c\x86\x940" % (i, i) for i in range(depth)) + rest


def graph_of(nodes, edges):
    """A pickled DiGraph whose dicts are what these opcodes push."""
    return name("networkx.classes.digraph", "DiGraph") + b")\x81}(" + short("_node") + nodes + short("_adj") + edges + b"ub."


class Reads(FrontTest):
    def sample(self):
        graph = networkx.DiGraph(name="sample")
        graph.add_node("x_0", data={"kind": "DynamicTensor", "shape": (1, 3), "value": np.arange(6, dtype=">f4").reshape(2, 3).T})
        graph.add_node("relu_1", data=collections.OrderedDict(kind="OpNode", n=np.float32(2.5), ids={1, 2}, frozen=frozenset({"a"}), raw=b"\x00\xff",
                                                              more=collections.defaultdict(list, {"a": [1]}), c=bytearray(b"ab")))
        graph.add_edge("x_0", "relu_1", weight=3)
        graph.nodes["x_0"]["data"]["self"] = graph.nodes["x_0"]["data"]
        graph.adj, graph.nodes, graph.edges, graph.degree  # networkx keeps these views, and pickles them
        return graph

    def test_graphs_of_every_protocol(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with self.subTest(protocol=protocol):
                read = gpickle.loads(pickle.dumps(self.sample(), protocol))
                self.assertEqual((list(read.edges(data=True)), read.graph), ([("x_0", "relu_1", {"weight": 3})], {"name": "sample"}))
                x, relu = read.nodes["x_0"]["data"], read.nodes["relu_1"]["data"]
                np.testing.assert_array_equal(x["value"], [[0, 3], [1, 4], [2, 5]])
                self.assertEqual((x["shape"], x["value"].dtype.str, x["self"] is x), ((1, 3), ">f4", True))
                self.assertEqual((relu["n"], relu["ids"], relu["frozen"], relu["raw"], relu["c"]), (2.5, {1, 2}, frozenset("a"), b"\x00\xff", bytearray(b"ab")))
                self.assertEqual((relu["kind"], relu["more"]), ("OpNode", {"a": [1]}))
                self.assertIs(type(relu["more"]), dict)

    def test_classes_of_other_packages_become_records(self):
        module = types.ModuleType("zaiConverter_old")

        class Kernel:
            def __init__(self, stride):
                self.stride = stride

            def __setstate__(self, state):
                mark("setstate")
        Kernel.__module__, Kernel.__qualname__ = module.__name__, "Kernel"
        module.Kernel = Kernel
        with mock.patch.dict(sys.modules, {module.__name__: module}):
            data = [pickle.dumps(graph_with(Kernel((2, 2))), protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
            for one in data:
                (found,) = gpickle.loads(one).nodes["conv2d_2"]["data"]["attributes"][0]["deep"]
                self.assertIsInstance(found, Record)
                self.assertEqual(found.state, {"stride": (2, 2)})
        self.assertEqual((repr(gpickle.loads(data[4]).nodes["conv2d_2"]["data"]["attributes"][0]["deep"][0]), RUN), ("<record of zaiConverter_old.Kernel>", []))

    def test_paths_dates_and_numbers_of_the_standard_library_become_records(self):
        given = {"path": pathlib.PosixPath("a/b"), "pure": pathlib.PureWindowsPath("c"), "time": datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
                 "date": datetime.date(2020, 1, 2), "span": datetime.timedelta(3), "decimal": decimal.Decimal("1.5"), "fraction": fractions.Fraction(1, 2),
                 "id": uuid.UUID(int=5), "deque": collections.deque([1, 2]), "day": np.datetime64("2020-01-02"), "text": np.str_("a"), "masked": np.ma.array([1])}
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with self.subTest(protocol=protocol):
                data = pickle.dumps(graph_with(given), protocol)
                (read,) = gpickle.loads(data).nodes["conv2d_2"]["data"]["attributes"][0]["deep"]
                self.assertEqual({type(value) for value in read.values()}, {Record})
                self.assertEqual((read["path"].asked, read["path"].args, read["decimal"].args), ("pathlib.PosixPath", ("a", "b"), ("1.5",)))
                self.assertEqual((read["time"].asked, len(read["time"].args[0]), read["deque"].items), ("datetime.datetime", 10, [1, 2]))

    def test_numbers_and_dicts_of_numpy_and_collections_are_rebuilt(self):
        given = {"f": np.float64(1.5), "i": np.int32(-3), "b": np.bool_(True), "h": np.float16(2), "c": np.complex64(1 + 2j), "ordered": collections.OrderedDict(a=1),
                 "default": collections.defaultdict(dict, {"a": {}}), "count": collections.Counter("aab"), "none": np.zeros((0, 3), np.float32), "bytes": b""}
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            (read,) = gpickle.loads(pickle.dumps(graph_with(given), protocol)).nodes["conv2d_2"]["data"]["attributes"][0]["deep"]
            self.assertEqual([read[key] for key in ("f", "i", "b", "h", "c", "bytes")], [1.5, -3, True, 2, 1 + 2j, b""])
            self.assertEqual((read["f"].dtype.str, read["ordered"], read["default"], read["count"]), ("<f8", {"a": 1}, {"a": {}}, {"a": 2, "b": 1}))
            self.assertEqual((read["none"].shape, type(read["ordered"]), type(read["default"])), ((0, 3), dict, dict))

    def test_what_python_2_pickled(self):
        ordered = b"ccollections\nOrderedDict\n(](](U\x01aK\x01e](U\x01bK\x02eetR"  # of a list of lists
        array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR(K\x01(K\x01tcnumpy\ndtype\n(U\x02f4K\x00K\x01tR(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb" \
                b"\x89U\x04\x00\x00\xc0\xbftb"
        nodes = b"}(U\x01a}(U\x01o" + ordered + b"U\x01v" + array + b"uu"
        graph = b"\x80\x02cnetworkx.classes.digraph\nDiGraph\n)\x81}(U\x04node" + nodes + b"U\x03adj}U\x01a}sub."
        read = gpickle.loads(graph).nodes["a"]
        self.assertEqual((read["o"], read["v"].tolist()), ({"a": 1, "b": 2}, [-1.5]))

    def test_every_opcode_has_its_way(self):
        for opcode in pickletools.opcodes:
            self.assertTrue(opcode.name in {*CONSTANTS, *ARGUMENTS, *OUTSIDE} or hasattr(Machine, f"do_{opcode.name.lower()}"), opcode.name)

    def test_a_written_graph_comes_whole_or_not_at_all(self):
        path = self.folder / "deep/g.gpickle"
        gpickle.write(path, self.sample())
        before = path.read_bytes()
        self.refused("cannot be pickled", gpickle.write, path, graph_with(lambda: 0))
        self.assertEqual((path.read_bytes(), [p.name for p in path.parent.iterdir()]), (before, ["g.gpickle"]))

    def test_what_is_no_graph(self):
        self.refused("is no pickle", gpickle.loads, b"")
        self.refused("is no pickle", gpickle.loads, b"hello")
        self.refused("holds dict, wanted a networkx.DiGraph", gpickle.loads, pickle.dumps({}))
        self.refused("No such file", gpickle.read, self.folder / "none")
        whole = pickle.dumps(self.sample())
        for cut in range(0, len(whole), 7):
            self.refused("gpickle", gpickle.loads, whole[:cut])

    def test_damaged_graphs_are_one_sentence(self):
        whole = pickle.dumps(self.sample(), 4)
        random = np.random.default_rng(0)
        for _ in range(1500):
            data = bytearray(whole)
            for _ in range(random.integers(1, 5)):
                data[random.integers(len(data))] = random.integers(256)
            try:
                gpickle.loads(bytes(data))
            except Exception as error:
                self.assertEqual((type(error).__name__, "\n" in str(error)), ("Error", False), error)

    def test_arrays_that_lie_about_their_size(self):
        array = np.zeros(4, np.float32)
        data = pickle.dumps(graph_with(array), 2)
        self.assertIn(b"K\x04\x85", data)
        self.refused("an array of shape (9,) has 16 bytes", gpickle.loads, data.replace(b"K\x04\x85", b"K\x09\x85"))


ATTACKS = {
    # name asked for -> the pickle
    "os.system": pickle.dumps(Calls(os.system, "false")),
    "builtins.eval": pickle.dumps(graph_with(Calls(eval, "1"))),
    "__builtin__.exec": pickle.dumps(graph_with({"k": [Calls(exec, "1")]}), 0),
    "builtins.getattr": pickle.dumps({Calls(getattr, [], "append"): 1}),
    "subprocess.Popen": P + name("subprocess", "Popen") + short("false") + b"\x85R.",
    "collections.OrderedDict.fromkeys": P + name("collections", "OrderedDict.fromkeys") + b"]\x85R.",
    "builtins.object.__reduce_ex__": P + name("builtins", "object.__reduce_ex__") + b".",
    "numpy.load": P + name("numpy", "load") + short("x") + b"\x85R.",
    "numpy.f2py.crackfortran.myeval": P + name("numpy.f2py.crackfortran", "myeval") + short("1") + b"\x85R.",
    "networkx.read_gpickle": P + name("networkx", "read_gpickle") + short("x") + b"\x85R.",
    "optima.gpickle.read": P + name("optima.gpickle", "read") + short("x") + b"\x85R.",
    "pickle.loads": P + name("pickle", "loads") + b"C\x02N." + b"\x85R.",
    "importlib.import_module": P + name("importlib", "import_module") + short("os") + b"\x85R.",
    "operator.attrgetter": P + name("operator", "attrgetter") + short("system") + b"\x85\x81.",
    "functools.partial": P + name("functools", "partial") + b"N\x85\x81.",
    "types.CodeType": P + name("types", "CodeType") + b")\x81.",
    "posix.execv": b"cposix\nexecv\n(S'/bin/false'\ntR.",
    "os.popen": b"(S'false'\nios\npopen\n.",  # INST
    "pty.spawn": b"(cpty\nspawn\nS'false'\no.",  # OBJ
    # the name comes by way of the memo, of DUP, and of a POP that hides the harmless one
    "nt.system": P + short("system") + b"\x94" + b"0" + short("nt") + b"h\x00\x93.",
    "ctypes.CDLL": P + short("ctypes") + short("CDLL") + b"\x93" + b"\x94" + b"0" + b"h\x00" + short("libc.so.6") + b"\x85R.",
    "runpy.run_path": P + name("collections", "OrderedDict") + b"0" + name("runpy", "run_path") + short("x") + b"\x85R.",
    "builtins.breakpoint": P + short("builtins") + short("breakpoint") + b"2" + b"00" + short("breakpoint") + b"\x93)R.",
    "__builtin__.apply": b"c__builtin__\napply\n.",
    "copy_reg.__newobj__": b"ccopy_reg\n__newobj__\n.",
    "sys.modules": P + name("sys", "modules") + b".",
    "io.open": P + name("io", "open") + short("/tmp/x") + short("w") + b"\x86R.",
    "shutil.rmtree": P + name("shutil", "rmtree") + short("/nowhere") + b"\x85R.",
}


class Refuses(FrontTest):
    def test_names_that_no_graph_needs(self):
        def never(*args, **more):
            self.fail(f"run: {args}")
        patches = [mock.patch("os.system", never), mock.patch("subprocess.Popen", never), mock.patch("builtins.eval", never), mock.patch("importlib.import_module", never)]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        for asked, data in ATTACKS.items():
            asked = {"os.system": "posix.system"}.get(asked, asked)  # what pickle calls it here
            with self.subTest(asked=asked):
                self.refused(f"asks for {asked!r}, which no graph needs", gpickle.loads, data)

    def test_an_attack_inside_a_graph_is_found_in_every_protocol(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.refused(".system'", gpickle.loads, pickle.dumps(graph_with(Calls(os.system, "false")), protocol))

    def test_functions_of_other_packages_are_not_called(self):
        __import__("support").mark = mark
        data = P + name("support", "mark") + short("x") + b"\x85R."
        self.refused("holds 'support.mark', wanted a networkx.DiGraph", gpickle.loads, data)
        self.refused("holds 'torch.hub.load'", gpickle.loads, P + name("torch.hub", "load") + short("x") + b"\x85R.")
        self.refused("holds 'nosuchpackage.f'", gpickle.loads, P + name("nosuchpackage", "f") + b")R.")
        self.assertNotIn("nosuchpackage", sys.modules)
        self.assertEqual(RUN, [])

    def test_reconstructor_and_setstate(self):
        data = b"ccopy_reg\n_reconstructor\n(csupport\nFrontTest\nc__builtin__\nobject\nNtR(dS'__setstate__'\nS'x'\nsb."
        self.refused("holds 'support.FrontTest'", gpickle.loads, data)
        self.refused("asks for 'posix.system'", gpickle.loads, b"ccopy_reg\n_reconstructor\n(cposix\nsystem\nc__builtin__\nobject\nNtR.")

    def test_no_class_of_this_program_is_changed(self):
        before, record = dict(vars(networkx.DiGraph)), dict(vars(Record))
        patch = b"(N}" + short("nodes") + short("gone") + b"st"  # (None, {"nodes": "gone"}): BUILD sets attributes
        for target in (name("networkx.classes.digraph", "DiGraph"), name("collections", "OrderedDict"), name("support", "FrontTest")):
            self.refused("gpickle", gpickle.loads, P + target + patch.replace(b"(N}", b"N}").replace(b"st", b"s\x86") + b"b.")
        self.assertEqual((dict(vars(networkx.DiGraph)), dict(vars(Record))), (before, record))

    def test_what_a_file_asks_for_from_outside(self):
        for data in (b"\x80\x02\x82\x01.", b"\x80\x02\x83\x01\x00.", b"\x80\x02\x84\x01\x00\x00\x00."):
            self.refused("asks for an extension code (1)", gpickle.loads, data)
        copyreg.add_extension("os", "system", 0xF0)
        self.addCleanup(copyreg.remove_extension, "os", "system", 0xF0)
        self.refused("asks for an extension code (240)", gpickle.loads, b"\x80\x02\x82\xf0(S'false'\ntR.")
        self.refused("asks for a persistent id ('7')", gpickle.loads, b"P7\n.")
        self.refused("asks for a persistent id", gpickle.loads, b"\x80\x02K\x07Q.")
        self.refused("asks for a buffer outside the file", gpickle.loads, b"\x80\x05\x97.")

    def test_files_that_want_more_memory_than_they_are_long(self):
        self.refused("memo 4294967295", gpickle.loads, b"\x80\x02Nr\xff\xff\xff\xff.")
        self.refused("memo 99999999999", gpickle.loads, b"Np99999999999\n.")
        self.refused("gpickle", gpickle.loads, P + b"\x8e" + struct.pack("<Q", 1 << 62) + b"x.")
        self.refused("gpickle", gpickle.loads, b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"N.")
        self.refused("gpickle", gpickle.loads, P + name("builtins", "bytearray") + b"J\xff\xff\xff\x7f\x85R.")
        self.refused("gpickle", gpickle.loads, P + name("builtins", "list") + name("builtins", "range") + b"J\xff\xff\xff\x7f\x85R\x85R.")
        self.refused("gpickle", gpickle.loads, b"L" + b"9" * 100000 + b"L\n.")
        laughs = b"]\x94" + b"".join(b"](h%ch%ce\x94" % (i, i) for i in range(60))  # each list holds the one before twice
        self.refused("holds list", gpickle.loads, P + laughs + b".")
        self.refused("nested too deep", gpickle.loads, P + b"]" * 100000 + b"a" * 99999 + b".")

    def test_keys_that_unfold(self):
        limit = "bytes and unfolds into more than"
        as_key, in_set = b"}h\x3cNs.", b"\x8f(h\x3c\x90."
        for rest in (as_key, in_set, b"(h\x3c\x91.", b"}\x8f(h\x3c\x90Ns.", name("builtins", "set") + b"]h\x3ca\x85R.", name("collections", "OrderedDict") + b")Rh\x3cNs.",
                     graph_of(b"}h\x3c}s", b"}"), graph_of(b"}(h\x3c}K\x01}u", b"}K\x01}h\x3c}ss"), name("x", "y") + b")R}h\x3cNsb."):
            error = self.refused(limit, gpickle.loads, bomb(60, rest), "gpickle 'x'")
            self.assertTrue(str(error).startswith("gpickle 'x' has ") and "keys of tuples inside tuples" in str(error), error)
        self.refused(limit, gpickle.loads, bomb(20, b"](" + b"}h\x14Ns" * 3 + b"e."))
        self.refused("holds tuple", gpickle.loads, bomb(60, b"h\x3c."))  # as a value it does not unfold
        long = b"\x8b" + struct.pack("<I", 1 << 18) + b"\x7f" * (1 << 18)
        self.refused("long keys", gpickle.loads, P + long + b"\x940](" + b"}h\x00Ns" * 10000 + b"e.")

    def test_keys_of_one_hash(self):
        prime = (1 << 61) - 1
        keys = b"".join(b"\x8a\x0a" + (i * prime).to_bytes(10, "little") for i in range(1, 20000))
        for data in (P + b"\x8f(" + keys + b"\x90.", P + b"}(" + keys.replace(b"\x8a\x0a", b"N\x8a\x0a")[1:] + b"Nu."):
            self.refused("more than 100 keys of one hash in one place", gpickle.loads, data)

    def test_things_that_are_copied_over_and_over(self):
        many = 20000
        zeros = b"](" + b"".join(b"M" + struct.pack("<H", i) for i in range(many)) + b"e\x940"
        call = b"h\x01h\x00\x85R"
        for made in ("list", "tuple", "set"):
            self.refused("copies of one container", gpickle.loads, P + zeros + name("builtins", made) + b"\x940](" + call * many + b"e.")
        text = b"X" + struct.pack("<I", 1 << 20) + b"a" * (1 << 20) + b"\x940"
        self.refused("copies of bytes", gpickle.loads, P + text + name("_codecs", "encode") + b"\x940](" + (b"h\x01h\x00" + short("latin1") + b"\x86R") * many + b"e.")
        pairs = b"}(" + b"".join(b"J" + struct.pack("<i", i) + b"N" for i in range(many)) + b"u\x940"
        self.refused("copies of one dict", gpickle.loads, P + pairs + name("collections", "OrderedDict") + b"\x940](" + call * many + b"e.")
        array = pickle.dumps(graph_with([np.frombuffer(bytes(1 << 20), np.uint8)] * 2), 2)
        self.assertEqual(gpickle.loads(array).nodes["conv2d_2"]["data"]["attributes"][0]["deep"][0][1].shape, (1 << 20,))
        record = b"B" + struct.pack("<I", 1 << 20) + bytes(1 << 20) + b"\x940" + name("numpy.core.numeric", "_frombuffer") + b"\x940" + name("numpy", "dtype") + short("u1") + b"\x85R\x940"
        shared = b"(h\x00h\x02J" + struct.pack("<i", 1 << 20) + b"\x85" + short("C") + b"t\x940]("
        self.refused("copies of one array", gpickle.loads, P + record + shared + b"h\x01h\x03R" * many + b"e.")

    def test_edges_and_attributes_that_are_shared(self):
        many = 5000
        names = b"".join(b"M" + struct.pack("<H", i) + b"}" for i in range(many))
        nodes = b"}(" + names + b"u\x94"
        self.refused("(edges)", gpickle.loads, P + graph_of(nodes, b"}(" + b"".join(b"M" + struct.pack("<H", i) + b"h\x00" for i in range(many)) + b"u"))
        same = b"}(" + b"".join(b"M" + struct.pack("<H", i) + (b"h\x00" if i else nodes) for i in range(many)) + b"u"
        self.refused("attributes of node", gpickle.loads, P + graph_of(same, b"}"))

    def test_opcodes_that_grow_what_they_name(self):
        self.refused("holds list", gpickle.loads, P + b"]" + b"2" * 100000 + b".")
        self.refused("holds list", gpickle.loads, P + b"]\x94" + b"(" + b"h\x00" * 1000 + b"e" + b"(h\x00e" * 10000 + b".")
        self.refused("nested too deep", gpickle.loads, P + b")" + b"\x85" * 1000000 + b".")
        self.refused("nested too deep", gpickle.loads, P + b"})" + b"\x85" * 1000000 + b"Ns.")
        self.refused("a frame of 4611686018427387904 bytes", gpickle.loads, b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"N.")
        self.refused("is no pickle: TUPLE2 at byte 3 of 5 does not find what it works on", gpickle.loads, P + b"N\x86.")
        self.refused("BINGET at byte 2 wants memo 7, which is empty", gpickle.loads, P + b"h\x07.")
        self.refused("protocol 6, wanted 0 to 5", gpickle.loads, b"\x80\x06N.")

    def test_what_is_no_regular_file(self):
        os.mkfifo(self.folder / "pipe")
        for path in (self.folder / "pipe", "/dev/zero"):
            self.refused("is no regular file", gpickle.read, path)

    def test_wrapped_files(self):
        attack = ATTACKS["os.system"]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as z:
            z.writestr("data.pkl", attack)
        for kind, data in (("gzip", gzip.compress(attack)), ("bzip2", bz2.compress(attack)), ("zip", packed.getvalue())):
            self.refused(f"is a {kind} file, wanted a plain pickle", gpickle.loads, data)
        self.refused("asks for 'posix.system'", gpickle.loads, attack + gzip.compress(attack))
        inner = graph_with(codecs.decode(codecs.encode(attack, "hex"), "hex"))  # bytes stay bytes
        self.assertEqual(gpickle.loads(pickle.dumps(inner)).nodes["conv2d_2"]["data"]["attributes"][0]["deep"], (attack,))


if __name__ == "__main__":
    unittest.main()
