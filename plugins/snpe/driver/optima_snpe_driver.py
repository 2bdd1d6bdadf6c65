# SPDX-License-Identifier: Apache-2.0
"""plugins/snpe: makes and runs Qualcomm's files with the wheels onnxruntime and onnxruntime-qnn. Started by toolchain/wheels.cpp in the
wheels' Python; not for people.

Spoken to on descriptor 3: a question is a line of words with tabs between them (in a word \\\\, \\t, \\n and \\r are escaped), and so is its answer:
"ok" and words, or "fail", a code's name and one line of text. Everything else that is printed, the libraries' chatter above all, goes to the
log file that each question names.
"""
import contextlib
import glob
import mmap
import os
import queue
import re
import resource
import shutil
import signal
import socket
import sys
import threading
import zipfile

CHANNEL = 3
ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
NEAR = 160 << 20       # their largest library takes 106 MiB at once
MODEL = "model.onnx"   # relative on purpose: the tools name graphs by a hash of the path that they were given
CONTEXT = "context"    # the wrapper says CONTEXT_qnn.bin wherever the file lies later


class Failure(Exception):
    """What goes back as "fail"."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code, self.text = code, text


def escaped(word):
    return str(word).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def plain(word):
    return re.sub(r"\\(.)", lambda m: {"t": "\t", "n": "\n", "r": "\r"}.get(m[1], m[1]), word)


def one_line(text):
    """The tools' sentence without colours, their prefix and line ends."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(text))
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : ", "", text.strip())
    text = re.sub(r"^\S+\.(cc|h):\d+ \S+( \S+\(.*?\))? ", "", text)
    return re.sub(r"\s+", " ", text).strip().rstrip(".")[:1000]


def short_of_memory():
    """Whether we are near our limit. The tools say anything then: that a library does not load, that they do not take a node."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return False
    with open("/proc/self/status") as status:
        peak = int(re.search(r"VmPeak:\s*(\d+)", status.read())[1]) << 10
    return limit - peak < NEAR


class Channel:
    """Questions and answers. A thread reads, so that the end of the host is seen while the tools work."""

    def __init__(self):
        self.socket = socket.socket(fileno=os.dup(CHANNEL))
        os.set_inheritable(self.socket.fileno(), False)
        os.close(CHANNEL)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.socket.makefile("r", encoding="utf-8", errors="surrogateescape", newline="\n"):
            self.lines.put(line.rstrip("\n"))
        os.killpg(0, signal.SIGKILL)  # nobody asks any more: end at once, with all that the tools may have started

    def question(self):
        return [plain(word) for word in self.lines.get().split("\t")]

    def answer(self, *words):
        self.socket.sendall(("\t".join(map(escaped, words)) + "\n").encode("utf-8", "surrogateescape"))


def print_to(path):
    """All that this process prints goes there from now on, the libraries' prints too."""
    fd = os.open(path or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    for stream in (1, 2):
        os.dup2(fd, stream)
    os.close(fd)


class Tools:
    """The two wheels."""

    def __init__(self):
        try:
            import onnxruntime
        except Exception as e:
            raise Failure("DEPENDENCY", f"wheel onnxruntime cannot be used in {sys.prefix}: {one_line(e)}")
        try:
            import onnxruntime_qnn
        except Exception as e:
            raise Failure("DEPENDENCY", f"wheel onnxruntime-qnn cannot be used in {sys.prefix}: {one_line(e)}")
        self.ort, self.qnn = onnxruntime, onnxruntime_qnn
        onnxruntime.disable_telemetry_events()
        self.lib = onnxruntime_qnn.LIB_DIR_FULL_PATH
        for name in ("libQnnHtp.so", "libQnnIr.so"):
            if not os.path.exists(os.path.join(self.lib, name)):
                raise Failure("DEPENDENCY", f"wheel onnxruntime-qnn {onnxruntime_qnn.__version__} in {sys.prefix} holds no {name}")
        try:
            onnxruntime.register_execution_provider_library("QNNExecutionProvider", onnxruntime_qnn.get_library_path())
            self.devices = [d for d in onnxruntime.get_ep_devices() if "QNN" in d.ep_name][:1]
        except Exception as e:
            raise Failure("DEPENDENCY", f"onnxruntime {onnxruntime.__version__} does not take onnxruntime-qnn {onnxruntime_qnn.__version__}: {one_line(e)}")
        if not self.devices:
            raise Failure("DEPENDENCY", f"onnxruntime-qnn {onnxruntime_qnn.__version__} offers onnxruntime {onnxruntime.__version__} no device")

    def version(self):
        return f"onnxruntime {self.ort.__version__} + onnxruntime-qnn {self.qnn.__version__}"

    def library(self, name):
        return os.path.join(self.lib, name)

    def hexagon(self, model, arch, precision):
        """What the provider is told. The provider refuses 16-bit floats where no chip is named."""
        options = {"backend_path": self.library("libQnnHtp.so"), "soc_model": model, "htp_arch": arch}
        if precision == "fp16":
            options["enable_htp_fp16_precision"] = "1"
        return options

    def container(self, folder):
        ir = self.library("libQnnIr.so")
        return {"backend_path": ir, "qnn_ir_backend_path": ir, "dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": folder}

    def session(self, path, options, entries=None, loud=False):
        """Throws what the tools throw. No node of ours may fall to a CPU, and the codes at the border are the device's too
        (offload_graph_io_quantization, on by default, leaves those nodes to the CPU and calls the session whole all the same)."""
        so = self.ort.SessionOptions()
        so.log_severity_level = 0 if loud else 3
        so.intra_op_num_threads = so.inter_op_num_threads = 1
        # The nodes are those that the host was asked about: nothing fused, nothing folded.
        so.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        for key, value in (entries or {}).items():
            so.add_session_config_entry(key, value)
        so.add_provider_for_devices(self.devices, {**options, "offload_graph_io_quantization": "0"})
        return apart(lambda: self.ort.InferenceSession(path, so))


def apart(call):
    """In a thread of its own, whose memory lies where no earlier allocation has moved it: see same_addresses()."""
    results, errors = [], []

    def body():
        try:
            results.append(call())
        except BaseException as e:
            errors.append(e)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if errors:
        raise errors.pop()
    return results.pop()


def same_addresses():
    """The compiler for Hexagon orders some of its work by addresses, and what it writes differs with them. So: starts this program again
    without random addresses where the system lets it. Python's own random part, its hashes, the host has turned off (PYTHONHASHSEED)."""
    try:
        with open("/proc/self/personality") as file:
            now = int(file.read(), 16)
        if now & ADDR_NO_RANDOMIZE:
            return
        import ctypes

        if ctypes.CDLL(None).personality(now | ADDR_NO_RANDOMIZE) != -1:
            os.execv(sys.executable, sys.orig_argv)
    except OSError:
        pass  # the files differ then, and work all the same


WHOLE = {"session.disable_cpu_ep_fallback": "1"}


class Model:
    """folder/model.onnx with each node named by its first output: the tools want names that differ, tell about nodes by them, and keep them in
    their files. In a private folder of `work`, which is the working folder while this lives."""

    def __init__(self, folder, work):
        import onnx

        path = os.path.join(folder, MODEL)
        if not os.path.exists(path):
            raise Failure("IO", f"file '{path}' is not there")
        proto = onnx.load(path, load_external_data=False)
        self.nodes = [(node.name, node.op_type, next((o for o in node.output if o), "")) for node in proto.graph.node]
        names = [output for _, _, output in self.nodes]
        if any(moved(name) != name or not name.isprintable() for name in names):
            names = [f"n{k}" for k in range(len(names))]  # theirs could not be told from what the tools make of names
        self.index = {name: k for k, name in enumerate(names)}
        for node, name in zip(proto.graph.node, names):
            node.name = name
        self.folder = os.path.join(work, "model")
        os.mkdir(self.folder)
        try:
            for entry in os.scandir(folder):  # weights
                if entry.is_file() and entry.name != MODEL:
                    self.bring(os.path.realpath(entry.path), entry.name)
            onnx.save(proto, os.path.join(self.folder, MODEL))
            os.chdir(self.folder)
        except BaseException:
            self.close()
            raise

    def bring(self, source, name):
        target = os.path.join(self.folder, name)
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)

    def close(self):
        os.chdir("/")
        shutil.rmtree(self.folder, ignore_errors=True)

    def find(self, name):
        """The number of a node that the tools speak of; None of one that they made."""
        return self.index.get(moved(name))

    def describe(self, k):
        name, op, output = self.nodes[k]
        return f"node '{name or output}' ({op})"


def moved(name):
    """The name that a node had before the tools moved it to another layout (x_token_2) or gave a reader its own copy (x/duplicated)."""
    return re.sub(r"(_token_\d+|/duplicated(_\w+)?)+$", "", name)


class Verdicts:
    """What the provider's own check said, from its log: "Validation FAILED for 1 nodes in OrtNodeUnit (MaxPool) :", then a line for each
    node with its name, then perhaps REASON."""

    def __init__(self, model, text):
        self.reasons = {}
        members, failed = [], False
        for line in text.splitlines():
            head = re.search(r"Validation (PASSED|FAILED) for \d+ nodes in OrtNodeUnit", line)
            member = re.match(r"\s*Operator type: \S+ Node name: (.*) Node index: \d+", line)
            reason = re.match(r"\s*REASON : (.*)", line)
            if head:
                members, failed = [], head[1] == "FAILED"
            elif member:
                k = model.find(member[1])
                if k is not None:
                    members.append(k)
                    if failed:
                        self.reasons.setdefault(k, "")
            elif reason and failed:
                text = one_line(re.sub(r"\.?\s*\S+ node `\S+` will not be assigned to QNN EP", "", reason[1]))
                for k in members:
                    self.reasons[k] = self.reasons[k] or text


@contextlib.contextmanager
def overheard(work, log):
    """What is printed meanwhile goes to a file, is given to `with`'s function, and only what is a warning or worse goes on to the log."""
    path = os.path.join(work, "said")
    heard = []
    print_to(path)
    try:
        yield lambda: heard[0] if heard else ""
    finally:
        print_to(log)
        with open(path, errors="replace") as said:
            heard.append(re.sub(r"\x1b\[[0-9;]*m", "", said.read()))
        os.unlink(path)
        quiet = [line for line in heard[0].splitlines() if line and not re.match(r"\S+ \S+ \[[VI]:|\s", line)]
        if quiet:
            os.write(2, ("\n".join(quiet) + "\n").encode())


def ask_nodes(tools, model, soc, arch, precision, work, log):
    """[(taken, why)] per node of the model."""
    entries = {"session.record_ep_graph_assignment_info": "1"}
    tools.ort.set_default_logger_severity(0)
    try:
        with overheard(work, log) as said:
            try:
                session = tools.session(MODEL, tools.hexagon(soc, arch, precision), entries, loud=True)
                parts = [(part.ep_name, [n.name for n in part.get_nodes()]) for part in session.get_provider_graph_assignment_info()]
                del session
            finally:
                tools.ort.set_default_logger_severity(3)
    except Exception as e:
        raise Failure("UNSUPPORTED", one_line(e))
    down = re.search(r"QNN SetupBackend failed (.*)", said())
    if down:
        raise Failure("TOOL_FAILED", "the tools do not start: " + one_line(down[1]))
    verdicts = Verdicts(model, said())
    here, elsewhere = set(), set()
    for provider, names in parts:
        (here if "QNN" in provider else elsewhere).update(model.find(n) for n in names)
    answers = []
    for k in range(len(model.nodes)):
        # what is in neither was taken into another node, unless its check failed
        taken = k in here and k not in elsewhere or k not in here and k not in elsewhere and k not in verdicts.reasons
        answers.append((taken, "" if taken else verdicts.reasons.get(k, "")))
    if not all(taken for taken, _ in answers) and short_of_memory():
        raise MemoryError
    return answers


def says_fallback(error):
    return "fallback to CPU" in str(error)


def refuse_with_nodes(tools, model, soc, arch, precision, work, log, error):
    """The nodes that the tools leave, by name; the tools' own words where they leave none."""
    said = one_line(error)
    left = []
    if says_fallback(error):
        answers = ask_nodes(tools, model, soc, arch, precision, work, log)
        left = [model.describe(k) + (f": {why}" if why else "") for k, (taken, why) in enumerate(answers) if not taken]
    more = f" and {len(left) - 5} more" if len(left) > 5 else ""
    raise Failure("UNSUPPORTED", "the tools do not take " + ", ".join(left[:5]) + more if left else "the tools refuse the model: " + said)


def assign(tools, folder, soc, arch, precision, work, log):
    model = Model(folder, work)
    try:
        answers = ask_nodes(tools, model, soc, arch, precision, work, log)
        words = []
        for (name, op, output), (taken, why) in zip(model.nodes, answers):
            if op != "Constant":
                words += [output, "1" if taken else "0", why]
        return words
    finally:
        model.close()


def require_room(folder, wanted=1, said=""):
    """The tools do not tell when a disk is full, and may have taken back what filled it."""
    space = os.statvfs(folder)
    left = space.f_bavail * space.f_frsize
    if left < wanted:
        raise Failure("IO", f"no space in '{folder}': {left} bytes are left" + (f" ({said})" if said else ""))


def size_of(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())


def whole_zip(path):
    try:
        with zipfile.ZipFile(path) as z:
            return len(z.namelist()) > 0
    except (zipfile.BadZipFile, OSError):
        return False


def dlc(tools, folder, soc, arch, precision, out, work, log):
    """Deep learning containers, in the order in which the graphs run."""
    model = Model(folder, work)
    made = os.path.join(work, "dlc")
    os.mkdir(made)
    try:
        try:
            tools.session(MODEL, tools.container(made), WHOLE)
        except Exception as e:
            if not says_fallback(e):
                require_room(made, 4 * size_of(model.folder), one_line(e))
            refuse_with_nodes(tools, model, soc, arch, precision, work, log, e)
        require_room(made)
        files = sorted(glob.glob(os.path.join(made, "*.dlc")), key=lambda f: int(re.search(r"_(\d+)\.dlc$", f)[1]))
        if not files:
            raise Failure("TOOL_FAILED", "the tools took the model and wrote no DLC")
        names = []
        for k, file in enumerate(files):
            if not whole_zip(file):
                raise Failure("TOOL_FAILED", f"the tools wrote a DLC of {os.path.getsize(file)} bytes that is not whole")
            names.append(os.path.join(out, "model.dlc" if k == 0 else f"model_{k}.dlc"))
            os.rename(file, names[-1])
        return names
    finally:
        shutil.rmtree(made, ignore_errors=True)
        model.close()


def context(tools, folder, soc, arch, precision, out, work, log):
    """A Hexagon context binary and the ONNX file that runs it."""
    model = Model(folder, work)
    made = os.path.join(work, "context")
    os.mkdir(made)
    try:
        wrapper = os.path.join(made, CONTEXT + ".onnx")
        entries = {**WHOLE, "ep.context_enable": "1", "ep.context_file_path": wrapper, "ep.context_embed_mode": "0"}
        try:
            tools.session(MODEL, tools.hexagon(soc, arch, precision), entries)
        except Exception as e:
            if not says_fallback(e):
                require_room(made, 4 * size_of(model.folder), one_line(e))
            refuse_with_nodes(tools, model, soc, arch, precision, work, log, e)
        require_room(made)
        binaries = glob.glob(os.path.join(made, "*.bin"))
        if not os.path.exists(wrapper) or len(binaries) != 1 or os.path.getsize(binaries[0]) == 0:
            raise Failure("TOOL_FAILED", f"the tools took the model and wrote {len(binaries)} context binaries, wanted 1 and its wrapper")
        files = [os.path.join(out, CONTEXT + "_qnn.bin"), os.path.join(out, CONTEXT + ".onnx")]
        os.rename(binaries[0], files[0])
        os.rename(wrapper, files[1])
        return files
    finally:
        shutil.rmtree(made, ignore_errors=True)
        model.close()


class Opened:
    """A context that is loaded. Tensors lie one after another in a file that host and driver map."""

    TYPES = {"float": "float32", "double": "float64", "float16": "float16", "bool": "bool", "int8": "int8", "uint8": "uint8", "int16": "int16",
             "uint16": "uint16", "int32": "int32", "uint32": "uint32", "int64": "int64", "uint64": "uint64"}

    def __init__(self, tools, binary, wrapper, soc, arch, work, ports):
        self.tools, self.work = tools, work
        self.folder = os.path.join(work, "open")
        shutil.rmtree(self.folder, ignore_errors=True)  # of a driver that died
        os.mkdir(self.folder)
        os.symlink(os.path.realpath(wrapper), os.path.join(self.folder, CONTEXT + ".onnx"))
        os.symlink(os.path.realpath(binary), os.path.join(self.folder, CONTEXT + "_qnn.bin"))
        self.options = tools.hexagon(soc, arch, "fp16")
        self.clocks = None
        self.session = self.load(self.options)
        self.buffer = self.map(ports)
        self.inputs = self.views(self.session.get_inputs(), [p for p in ports if p[0] == "i"], "input")
        self.outputs = self.views(self.session.get_outputs(), [p for p in ports if p[0] == "o"], "output")

    def load(self, options):
        os.chdir(self.folder)
        try:
            return self.tools.session(CONTEXT + ".onnx", options, WHOLE)
        except Exception as e:
            raise Failure("CORRUPT", "the tools do not take the context: " + one_line(e))
        finally:
            os.chdir("/")

    def map(self, ports):
        size = max([1] + [offset + count for _, _, offset, count in ports])
        path = os.path.join(self.work, "tensors")
        with open(path, "r+b") as file:
            if os.fstat(file.fileno()).st_size < size:
                raise Failure("INTERNAL", f"file '{path}' is too short")
            return mmap.mmap(file.fileno(), size)

    def views(self, values, ports, what):
        """[(name, array over the mapped file)] in the host's order; nothing that the file does not say is believed."""
        import numpy

        known = {v.name: v for v in values}
        if set(known) - {name for _, name, _, _ in ports}:
            raise Failure("CORRUPT", f"{what} '{sorted(set(known) - {p[1] for p in ports})[0]}' of the context is not among the artifact's")
        views = []
        for _, name, offset, count in ports:
            if name not in known and what == "input":
                continue  # an input that nothing reads
            if name not in known:
                raise Failure("CORRUPT", f"output '{name}' is not in the context")
            value = known[name]
            kind = self.TYPES.get(re.sub(r"tensor\((.*)\)", r"\1", value.type))
            if kind is None or not all(isinstance(d, int) for d in value.shape):
                raise Failure("CORRUPT", f"{what} '{name}' of the context is a {value.type} of {value.shape}, wanted a dense tensor of fixed shape")
            dtype = numpy.dtype(kind)
            elements = 1
            for d in value.shape:
                elements *= d
            if elements * dtype.itemsize != count:
                raise Failure("CORRUPT", f"{what} '{name}' of the context has {elements * dtype.itemsize} bytes, the artifact says {count}")
            views.append((name, numpy.frombuffer(self.buffer, dtype, elements, offset).reshape(value.shape)))
        return views

    def profile(self, on):
        """The provider has clocks for a session's whole life only."""
        if bool(self.clocks) == on:
            return
        self.session = None
        self.clocks = Clocks(os.path.join(self.folder, "clocks.csv")) if on else None
        self.session = self.load({**self.options, **(self.clocks.options() if on else {})})

    def run(self):
        """What the clocks said: name, start and duration in nanoseconds, of each node."""
        names = [name for name, _ in self.outputs]
        try:
            results = self.session.run(names, dict(self.inputs))
        except Exception as e:
            raise Failure("TOOL_FAILED", "the run failed: " + one_line(e))
        for (name, view), result in zip(self.outputs, results):
            if result.shape != view.shape or result.dtype != view.dtype:
                raise Failure("TOOL_FAILED", f"output '{name}' came as {result.dtype}{list(result.shape)}, wanted {view.dtype}{list(view.shape)}")
            view[...] = result
        return self.clocks.events() if self.clocks else []


class Clocks:
    """The provider's own, in a file that it appends to: cycles of each node in order, then the microseconds that they took together."""

    def __init__(self, path):
        self.path, self.read = path, 0

    def options(self):
        return {"profiling_level": "detailed", "profiling_file_path": self.path}

    def events(self):
        with open(self.path, errors="replace") as file:
            file.seek(self.read)
            rows = [line.rstrip("\n").split(",", 6) for line in file]
        self.read = os.path.getsize(self.path)
        events, nodes, start = [], [], 0
        for row in rows:
            if len(row) < 7 or not row[2].isdigit():
                continue
            _, kind, value, unit, _, _, name = row
            if kind == "NODE" and unit == "CYCLES":
                nodes.append((moved(re.sub(r":?\s*OpId_\d+( \(cycles\))?$", "", name)), int(value)))
            elif unit == "US" and name == "Accelerator (execute) time":
                total = sum(cycles for _, cycles in nodes)
                for node, cycles in nodes:
                    duration = int(value) * 1000 * cycles // total if total else 0
                    events += [node, start, duration]
                    start += duration
                nodes = []
        return events


class Driver:
    def __init__(self, channel):
        self.channel, self.tools, self.opened = channel, None, None

    def require_tools(self):
        if self.tools is None:
            self.tools = Tools()
        return self.tools

    def hello(self):
        tools = self.require_tools()
        return [tools.version(), tools.lib, sys.version.split()[0]]

    def open(self, binary, wrapper, soc, arch, work, *ports):
        self.opened = None
        quads = [ports[k:k + 4] for k in range(0, len(ports), 4)]
        self.opened = Opened(self.require_tools(), binary, wrapper, soc, arch, work, [(w, n, int(o), int(c)) for w, n, o, c in quads])
        return []

    def run(self):
        if self.opened is None:
            raise Failure("INTERNAL", "nothing is open")
        return self.opened.run()

    def profile(self, on):
        if self.opened is None:
            raise Failure("INTERNAL", "nothing is open")
        self.opened.profile(on == "1")
        return []

    def answer(self, log, verb, *words):
        print_to(log)
        if verb in ("hello", "open", "run", "profile"):
            return getattr(self, verb)(*words)
        call = {"assign": assign, "dlc": dlc, "context": context}.get(verb)
        if call is None:
            raise Failure("INTERNAL", f"unknown question '{verb}'")
        work = words[-1]
        os.environ["TMPDIR"] = work
        return call(self.require_tools(), *words, log)

    def serve(self):
        while True:
            log, verb, *words = self.channel.question()
            try:
                self.channel.answer("ok", *self.answer(log, verb, *words))
            except Failure as e:
                code, text = (e.code, e.text) if e.code == "IO" or not short_of_memory() else ("MEMORY", "out of memory")
                self.channel.answer("fail", code, text)
            except MemoryError:
                self.channel.answer("fail", "MEMORY", "out of memory")
            except OSError as e:
                self.channel.answer("fail", "IO", one_line(e))
            except Exception as e:
                self.channel.answer("fail", "TOOL_FAILED", f"{type(e).__name__}: {one_line(e)}")


if __name__ == "__main__":
    same_addresses()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Driver(Channel()).serve()
