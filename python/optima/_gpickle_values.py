# SPDX-License-Identifier: Apache-2.0
"""What a gpickle's inert records become: graphs, arrays, containers. Only what is listed here is rebuilt; all else stays a record."""
import math

from optima._bad_input import bad_input
from optima._gpickle_machine import Members, Name, OLD_OBJECTS, Pairs, Record

CONTAINERS = {"builtins.set": set, "builtins.frozenset": frozenset, "builtins.list": list, "builtins.tuple": tuple, "builtins.bytearray": bytearray,
              "builtins.bytes": bytes}
CONTAINERS.update({name.replace("builtins", "__builtin__"): make for name, make in CONTAINERS.items()})
DICTS = {"collections.OrderedDict", "collections.defaultdict", "collections.Counter", "builtins.dict", "__builtin__.dict"}
DIGRAPH = "networkx.classes.digraph.DiGraph"
ARRAYS = {f"numpy.{core}.multiarray._reconstruct" for core in ("core", "_core")}
BUFFERS = {f"numpy.{core}.numeric._frombuffer" for core in ("core", "_core")}
SCALARS = {f"numpy.{core}.multiarray.scalar" for core in ("core", "_core")}
BYTES = {"_codecs.encode": bytes, "builtins.bytearray": bytearray, "__builtin__.bytearray": bytearray}  # as text of code points below 256
# Named by graphs, and of no use here: views that networkx makes anew, types as values.
PASSED_OVER = {f"networkx.classes.{name}" for name in
               ("reportviews.NodeView", "reportviews.OutEdgeView", "reportviews.InEdgeView", "reportviews.EdgeView", "reportviews.DiDegreeView",
                "reportviews.DegreeView", "reportviews.InDegreeView", "reportviews.OutDegreeView", "coreviews.AdjacencyView", "coreviews.AtlasView",
                "graph.Graph", "multigraph.MultiGraph", "multidigraph.MultiDiGraph")}
TYPES = {f"{module}.{name}" for module in ("builtins", "__builtin__") for name in
         ("int", "float", "str", "bool", "complex", "object", "type", "range", "slice", "NoneType", "long", "unicode")}
TYPES |= {f"numpy.{name}" for name in
          ("dtype", "ndarray", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_", "bool")}
TYPES |= {f"numpy.{name}" for name in
          ("complex64", "complex128", "longdouble", "clongdouble", "str_", "bytes_", "void", "object_", "datetime64", "timedelta64")}
# Plain data of the standard library and numpy that may lie in attributes: these stay records.
INERT = {f"pathlib.{name}" for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath", "Path", "PurePath")}
INERT |= {name.replace("pathlib.", "pathlib._local.") for name in INERT}  # Python 3.13
INERT |= {f"datetime.{name}" for name in ("datetime", "date", "time", "timedelta", "timezone")}
INERT |= {"decimal.Decimal", "fractions.Fraction", "uuid.UUID", "uuid.SafeUUID", "collections.deque", "collections.UserDict",
          "collections.UserList", "collections.UserString", "array.array", "array._array_reconstructor", "types.SimpleNamespace", "argparse.Namespace", "re._compile",
          "numpy.ma.core._mareconstruct", "numpy.ma.core.MaskedArray", "numpy.ma.MaskedArray"}
INERT |= {f"ipaddress.{name}" for name in ("IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network")}
ALLOWED = frozenset({*CONTAINERS, *DICTS, DIGRAPH, *ARRAYS, *BUFFERS, *SCALARS, *OLD_OBJECTS, *BYTES, *PASSED_OVER, *TYPES, *INERT})


EDGE = 4  # values that an edge of networkx counts as
HASHED = 1 / 8  # a value inside a key: hashed a few times, and not made
MOST_ALIKE = 100  # keys of one dict or set that have the same hash


class Rebuilder:
    """Turns what the machine gave into plain values, each shared one once. size: bytes of the file. What may come of them, in values made beyond those that
    the file holds one by one, is bounded in proportion: a file that asks for more, by copies of one thing or by keys that unfold, is refused."""

    def __init__(self, what, size):
        self.what, self.done, self.keep, self.size, self.left = what, {}, [], size, 100_000 + 2 * size

    def spend(self, count, of):
        self.left -= count
        if self.left < 0:
            raise bad_input(f"{self.what} has {self.size} bytes and unfolds into more than {100_000 + 2 * self.size} values ({of}), wanted a graph")

    def value(self, found):
        kind = type(found)
        if kind not in (list, tuple, Pairs, Members, Record, Name):
            return found
        if id(found) not in self.done:
            self.keep.append(found)  # ids are of living objects
            self.done[id(found)] = self.made_of(found, kind)
        return self.done[id(found)]

    def made_of(self, found, kind):
        if kind is Pairs:
            return self.fill(self.begin(found, {}), found)
        if kind is list:
            made = self.begin(found, [])
            made.extend(map(self.value, found))
            return made
        if kind is Record:
            return self.record(found)
        if kind is Name:
            return Record(found.asked)
        if kind is tuple:
            return tuple(map(self.value, found))
        return self.set_of(frozenset if found.frozen else self.begin(found, set()), found)

    def begin(self, found, made):
        """What holds itself finds what is being made of it."""
        self.done[id(found)] = made
        return made

    def fill(self, made, pairs):
        alike = {}
        for key, value in pairs:
            key = self.key(self.value(key), alike)
            made[key] = self.value(value)
        return made

    def set_of(self, made, members):
        """made: a set to be filled, or the class frozenset."""
        alike = {}
        keys = [self.key(self.value(member), alike) for member in members]
        if made is frozenset:
            return frozenset(keys)
        made.update(keys)
        return made

    def key(self, made, alike):
        """A key whose hash may be asked for. alike: hash -> keys of it so far, in one dict or set."""
        self.spend_on_hash(made)
        code = hash(made)
        alike[code] = alike.get(code, 0) + 1
        if alike[code] > MOST_ALIKE:
            raise bad_input(f"{self.what} has more than {MOST_ALIKE} keys of one hash in one place, such as {made!r:.60}, wanted a graph")
        return made

    def spend_on_hash(self, key):
        left = [key]
        while left:
            one = left.pop()
            kind = type(one)
            if kind in (tuple, frozenset):
                self.spend(len(one) * HASHED, "keys of tuples inside tuples")
                left.extend(one)
            elif kind in (str, bytes, int):
                self.spend((one.bit_length() if kind is int else len(one)) >> 10, "long keys")

    def record(self, found):
        asked, args = found.asked, found.args
        if asked == DIGRAPH:
            return self.graph(found)
        if asked in DICTS:
            made = self.begin(found, {})
            for arg in args:
                self.fill(made, self.pairs_of(arg))
            return self.fill(made, found.pairs)
        if asked in CONTAINERS and len(args) <= 1:
            inside = self.value(args[0]) if args else ()
            if type(inside) in (list, tuple, bytes, bytearray):
                return self.container(CONTAINERS[asked], inside)
        if asked in BYTES and len(args) == 2 and type(args[0]) is str and args[1] in ("latin1", "latin-1"):
            self.spend(len(args[0]) >> 3, "copies of bytes")
            return BYTES[asked](args[0].encode("latin-1"))
        made = self.array(found)
        if made is None:
            self.begin(found, found)
            found.args, found.more, found.state = tuple(map(self.value, args)), self.value(found.more), self.value(found.state)
            found.items, found.pairs = self.value(found.items), self.value(found.pairs)
            return found
        return made

    def pairs_of(self, arg):
        """What an argument of a dict stores into it: a dict, or a list of pairs, as Python 2 has for ordered ones."""
        if type(arg) not in (Pairs, list):
            return []
        self.spend(len(arg), "copies of one dict")
        return [pair for pair in arg if type(pair) in (list, tuple) and len(pair) == 2]

    def container(self, kind, inside):
        self.spend(len(inside) >> 3 if isinstance(inside, (bytes, bytearray)) else len(inside), "copies of one container")
        if kind is set or kind is frozenset:
            return self.set_of(set() if kind is set else frozenset, inside)
        return kind(inside)

    def graph(self, found):
        import networkx
        state = {key: value for key, value in found.state if type(key) is str} if type(found.state) is Pairs else {}
        nodes, edges = state.get("_node", state.get("node")), state.get("_adj", state.get("_succ", state.get("adj")))  # bare names: networkx 1
        graph = self.begin(found, networkx.DiGraph())
        graph.graph.update(self.checked(state.get("graph", Pairs()), "attributes of the graph"))
        for node, attributes in self.checked(nodes, "nodes").items():
            self.spend_on_hash(node)
            graph.add_node(node)
            graph.nodes[node].update(self.attributes(attributes, f"attributes of node {node!r:.60}"))
        for source, targets in self.checked(edges, "edges").items():
            for target, attributes in self.checked(targets, f"edges of node {source!r:.60}").items():
                if source not in graph or target not in graph:
                    raise bad_input(f"{self.what} is damaged: an edge {source!r:.60} -> {target!r:.60} has a node that is not there")
                self.spend(EDGE, "edges")
                self.spend_on_hash((source, target))
                graph.add_edge(source, target)
                graph.edges[source, target].update(self.attributes(attributes, "attributes of an edge"))
        return graph

    def attributes(self, found, part):
        made = self.checked(found, part)
        self.spend(len(made), part)
        return made

    def checked(self, found, part):
        made = self.value(found)
        if type(made) is not dict:
            raise bad_input(f"{self.what} is damaged: {part} are {type(made).__name__}, wanted a dict")
        return made

    def array(self, found):
        """A numpy array or scalar of numbers; None for whatever is none, such as one of objects."""
        import numpy
        if found.asked in ARRAYS and type(found.state) is tuple and len(found.state) == 5:
            _, shape, dtype, fortran, data = found.state
        elif found.asked in BUFFERS and len(found.args) == 4:
            data, dtype, shape, order = found.args
            fortran = order == "F"
        elif found.asked in SCALARS and len(found.args) == 2:
            (dtype, data), shape, fortran = found.args, (), False
        else:
            return None
        data = self.value(data)
        data = data.encode("latin-1") if type(data) is str else data  # of Python 2
        code = dtype_code(dtype)
        if code is None or not isinstance(data, (bytes, bytearray)) or not is_shape(shape):
            return None
        self.spend(len(data) >> 3, "copies of one array")
        if math.prod(shape) * numpy.dtype(code).itemsize != len(data):
            raise bad_input(f"{self.what} is damaged: an array of shape {shape} has {len(data)} bytes")
        made = numpy.frombuffer(data, code).reshape(shape, order="F" if fortran else "C")
        return made.copy(order="A") if found.asked not in SCALARS else made[()]


def is_shape(shape):
    return type(shape) is tuple and len(shape) <= 64 and all(type(dim) is int and 0 <= dim < 1 << 63 for dim in shape)


def dtype_code(dtype):
    """'<f4' of the record of a dtype of plain numbers, else None."""
    args = dtype.args if isinstance(dtype, Record) and dtype.asked == "numpy.dtype" else ()
    code = args[0] if args else None
    if type(code) is not str or len(code) not in (2, 3) or code[0] not in "fiubc" or not code[1:].isdigit():
        return None
    import numpy
    order = dtype.state[1] if type(dtype.state) is tuple and len(dtype.state) > 1 and dtype.state[1] in ("<", ">", "|", "=") else "="
    try:
        return numpy.dtype(code).newbyteorder(order)
    except (TypeError, ValueError):
        return None
