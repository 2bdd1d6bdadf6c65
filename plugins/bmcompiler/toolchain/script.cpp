// SPDX-License-Identifier: Apache-2.0
#include "toolchain/stages.hpp"

namespace bmcompiler_plugin {
namespace {

/// What follows the tables; words of its own are the compile's, of which stages_of() tells.
constexpr const char* kBody = R"PY(

def fail(sentence):
    sys.exit(f"{os.path.basename(__file__)}: {sentence}")


def tools():
    """The folder with bin/tpuc-opt."""
    for variable in ("TPUC_ROOT", "OPTIMA_SOPHON"):
        named = os.environ.get(variable)
        for root in [named, os.path.join(named, "tpu_mlir")] if named else []:
            if os.access(os.path.join(root, "bin", "tpuc-opt"), os.X_OK):
                return os.path.abspath(root)
        if named:
            fail(f"{variable} is '{named}', which holds no bin/tpuc-opt")
    fail(f"TPUC_ROOT is not set: wanted the folder of {TOOLS}")


def environment(root, work):
    """All that a tool sees, so that nothing else moves a byte of its files."""
    names = {"TPUC_ROOT": root, "PATH": "/usr/bin:/bin", "HOME": work, "TMPDIR": work, "LC_ALL": "C", "TZ": "UTC", "OMP_NUM_THREADS": "4"}
    if os.path.exists(os.path.join(root, "lib", "third_party", "libc.so.6")):  # another system's, with which nothing starts here
        with open("/proc/self/maps") as maps:
            libc = [line.split()[-1] for line in maps if "/libc.so.6" in line or "/libc-2." in line]
        names["LD_LIBRARY_PATH"] = os.path.dirname(libc[0]) if libc else "/lib/x86_64-linux-gnu"
    return names


def undated(data):
    """The file with the time of compilation set to 1980, and a kernel module's mode that the tools left unset to 0."""
    def number(form, at):
        return struct.unpack_from(form, data, at)[0]

    def field(table, k):
        fields = table - number("<i", table)
        offset = number("<H", fields + 4 + 2 * k) if number("<H", fields) > 4 + 2 * k else 0
        return table + offset if offset else None

    data = bytearray(data)
    cvi = data[:8] == b"CviModel"
    base, time = (48, b"1980-01-01 00:00:00") if cvi else (64, b"Tue Jan  1 00:00:00 1980\n")
    root = base + number("<I", base)
    text = field(root, 2) + number("<I", field(root, 2))
    if number("<I", text) != len(time):
        fail("the tools wrote a file with no time of compilation where one is wanted")
    data[text + 4:text + 4 + len(time)] = time
    if cvi:
        data[14:30] = hashlib.md5(data[48:]).digest()
    elif field(root, 6):
        mode = field(field(root, 6) + number("<I", field(root, 6)), 2)
        if mode and number("<I", mode) > 1:
            data[mode:mode + 4] = bytes(4)
    return data


def inputs(here, stem, part):
    """Files of the compile: the name it wants, the file that has it."""
    def place(suffix, name):
        names = [stem + "." + part + suffix] if part else []
        paths = [os.path.join(here, file) for file in names + [stem + suffix, name]]
        return next((path for path in paths if os.path.exists(path)), paths[-1])

    found = {}
    for suffix, name in INPUTS:
        found[name] = place(suffix, name)
        if not os.path.exists(found[name]):
            fail(f"'{found[name]}' is not there")
    with open(found[INPUTS[0][1]]) as module:
        weights = re.search(r'module\.weight_file = "([^"]*)"', module.read())
    if weights:
        found[weights[1]] = place(".npz", weights[1])
    return found


def call(root, work, name, program, product, words):
    end = subprocess.run([os.path.join(root, "bin", program), *words], cwd=work, env=environment(root, work), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    made = os.path.join(work, product)
    if end.returncode != 0 or not os.path.exists(made) or os.path.getsize(made) == 0:
        sys.stderr.buffer.write(end.stdout)
        fail(f"{program} failed at stage {name}, exit status {end.returncode}")


def undate(path):
    with open(path, "rb") as file:
        data = undated(file.read())
    with open(path, "wb") as file:
        file.write(data)


def compile_in(root, work, files):
    """Leaves RESULT in the folder."""
    for name, path in files.items():
        shutil.copyfile(path, os.path.join(work, name))
    for stage in STAGES:
        call(root, work, *stage)
    undate(os.path.join(work, RESULT))


def fix_addresses():
    """Programs that are started have no random addresses, where the system allows that: the tools write some memory that they leave unset."""
    libc = ctypes.CDLL(None)
    now = libc.personality(ctypes.c_ulong(0xFFFFFFFF))
    if now != -1:
        libc.personality(ctypes.c_ulong(now | 0x0040000))  # ADDR_NO_RANDOMIZE of linux/personality.h


def main():
    fix_addresses()
    here, own = os.path.split(os.path.abspath(__file__))
    stem = own[:-len(".compile.py")] if own.endswith(".compile.py") else "compilation"
    root = tools()
    with tempfile.TemporaryDirectory() as work:
        for part in PARTS or [""]:
            folder = os.path.join(work, part)
            os.makedirs(folder, exist_ok=True)
            compile_in(root, folder, inputs(here, stem, part))
        if PARTS:
            call(root, work, *COMBINE)
            undate(os.path.join(work, RESULT))
        shutil.copyfile(os.path.join(work, RESULT), os.path.join(here, stem + os.path.splitext(RESULT)[1]))


if __name__ == "__main__":
    main()
)PY";

std::string spelled(std::string_view word) {
  std::string out = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string listed(const std::vector<std::string>& words) {
  std::string out = "[";
  for (const std::string& w : words) out += (out.size() > 1 ? ", " : "") + spelled(w);
  return out + "]";
}

/// A call as the script has it.
std::string listed(const Stage& s) { return "(" + spelled(s.name) + ", " + spelled(s.program) + ", " + spelled(s.product) + ", " + listed(s.words) + ")"; }

}  // namespace

std::string compile_script(const Job& job, const Facts& tools, const std::vector<std::string>& parts) {
  std::string out =
      "#!/usr/bin/env python3\n"
      "# Compiles the module beside it for " + std::string(job.chip->name) + " in mode " + job.mode + ", with the tools of TPUC_ROOT, and writes " +
      std::string(job.chip->suffix) + " beside it.\n"
      "import ctypes, hashlib, os, re, shutil, struct, subprocess, sys, tempfile\n\n"
      "TOOLS = " + spelled(tools.version) + "  # with others the file has other bytes\n"
      "RESULT = " + spelled(job.result) + "\n"
      "# What the module is called beside this script, <stem of this script> and the first word, and in the compile.\n"
      "INPUTS = [(\".mlir\", " + spelled(job.module) + ")";
  if (!job.calibration.empty()) out += ", (\".calib\", " + spelled(job.calibration) + ")";
  if (!job.precisions.empty()) out += ", (\".qtable\", " + spelled(job.precisions) + ")";
  out += "]\nSTAGES = [  # name, the program, the file that it writes, its words\n";
  for (const Stage& s : stages_of(job)) out += "    " + listed(s) + ",\n";
  out += "]\nPARTS = " + listed(parts) + "  # sizes of the batch: the same compile of the module of each, <stem of this script>.<part>.mlir\n";
  return out + "COMBINE = " + (parts.empty() ? "None" : listed(combine_stage(results_of(job, parts), job.result))) + "\n" + kBody;
}

}  // namespace bmcompiler_plugin
