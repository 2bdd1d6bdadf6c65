// SPDX-License-Identifier: Apache-2.0
// python/binding: optima._runtime, what optima.runtime is made of: optima/runtime.hpp for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/binding/checksum.hpp"
#include "python/binding/request.hpp"

namespace optima::python {
namespace {

void bind_enums(nb::module_& m) {
  using D = rt::DeviceKind;
  nb::enum_<D>(m, "DeviceKind", "Kinds of devices; Other: a kind that a plugin brought.")
      .value("Other", D::Other).value("X86", D::X86).value("X64", D::X64).value("ARM", D::ARM).value("ARM64", D::ARM64).value("NVIDIA", D::NVIDIA)
      .value("AMDGPU", D::AMDGPU).value("INTELGPU", D::INTELGPU).value("MALI", D::MALI).value("ADRENO", D::ADRENO).value("HEXAGON", D::HEXAGON)
      .value("MYRIAD", D::MYRIAD).value("ARA1", D::ARA1).value("TPU", D::TPU).value("CV22", D::CV22);
  using E = rt::ElementType;
  nb::enum_<E>(m, "ElementType", "Element types; the numbers are those of ONNX.")
      .value("Undefined", E::Undefined).value("Float32", E::Float32).value("UInt8", E::UInt8).value("Int8", E::Int8).value("UInt16", E::UInt16)
      .value("Int16", E::Int16).value("Int32", E::Int32).value("Int64", E::Int64).value("String", E::String).value("Bool", E::Bool).value("Float16", E::Float16)
      .value("Float64", E::Float64).value("UInt32", E::UInt32).value("UInt64", E::UInt64).value("Complex64", E::Complex64).value("Complex128", E::Complex128)
      .value("BFloat16", E::BFloat16).value("Float8E4M3FN", E::Float8E4M3FN).value("Float8E4M3FNUZ", E::Float8E4M3FNUZ).value("Float8E5M2", E::Float8E5M2)
      .value("Float8E5M2FNUZ", E::Float8E5M2FNUZ).value("UInt4", E::UInt4).value("Int4", E::Int4).value("Float4E2M1", E::Float4E2M1)
      .value("Float8E8M0", E::Float8E8M0).value("UInt2", E::UInt2).value("Int2", E::Int2);
  using L = rt::LogLevel;
  nb::enum_<L>(m, "LogLevel").value("Trace", L::Trace).value("Debug", L::Debug).value("Info", L::Info).value("Warn", L::Warn).value("Error", L::Error);
  using P = rt::ProfileKind;
  nb::enum_<P>(m, "ProfileKind", "What an event of a profile measures.")
      .value("ModelInit", P::ModelInit).value("SubgraphInit", P::SubgraphInit).value("RequestInit", P::RequestInit).value("LayerExecute", P::LayerExecute)
      .value("Wait", P::Wait).value("BufferCopy", P::BufferCopy).value("ModelExecute", P::ModelExecute).value("SubgraphExecute", P::SubgraphExecute)
      .value("FlowExecute", P::FlowExecute);
}

nb::object shape_of(const rt::TensorInfo& info) {
  if (info.unranked) return nb::none();
  nb::list out;
  for (const int64_t d : info.shape) out.append(d);
  return nb::tuple(out);
}

const char* type_of(const rt::TensorInfo& info) { return info.is_text ? name_of(rt::ElementType::String) : name_of(info.type); }

void bind_infos(nb::module_& m) {
  nb::class_<rt::TensorInfo>(m, "TensorInfo", "An input or output of a model.")
      .def_ro("name", &rt::TensorInfo::name)
      .def_ro("type", &rt::TensorInfo::type)
      .def_prop_ro("dtype", [](const rt::TensorInfo& i) { return type_of(i); }, "numpy's name of the element type, ml_dtypes' where numpy has none; \"string\" for texts.")
      .def_prop_ro("shape", shape_of, nb::sig("def shape(self) -> tuple[int, ...] | None"), "-1 = known when running; None: not even the rank is known.")
      .def_ro("symbols", &rt::TensorInfo::symbols, "Per dimension the model's name for its size, \"\" = none.")
      .def_prop_ro("texts", [](const rt::TensorInfo& i) { return i.is_text ? nb::cast(i.texts) : nb::none(); }, nb::sig("def texts(self) -> list[str] | None"),
                   "Of texts, those that the model knows; None for numbers.")
      .def("__repr__", [](const rt::TensorInfo& i) { return nb::str("TensorInfo(name={!r}, dtype={!r}, shape={})").format(i.name, type_of(i), shape_of(i)); });
  nb::class_<rt::DeviceInfo>(m, "DeviceInfo", "A device that a plugin found on this machine.")
      .def_ro("kind", &rt::DeviceInfo::kind)
      .def_ro("kind_name", &rt::DeviceInfo::kind_name)
      .def_ro("plugin", &rt::DeviceInfo::plugin)
      .def_ro("id", &rt::DeviceInfo::id)
      .def_ro("arch", &rt::DeviceInfo::arch)
      .def_ro("driver", &rt::DeviceInfo::driver)
      .def_ro("ordinal", &rt::DeviceInfo::ordinal)
      .def("__repr__", [](const rt::DeviceInfo& d) { return nb::str("DeviceInfo({}/{}:{}, arch={!r})").format(d.plugin, d.kind_name, d.ordinal, d.arch); });
  nb::class_<rt::SubgraphInfo>(m, "SubgraphInfo", "A subgraph of a package, in run order.")
      .def_ro("index", &rt::SubgraphInfo::index)
      .def_ro("device", &rt::SubgraphInfo::device)
      .def_ro("plugin", &rt::SubgraphInfo::plugin)
      .def_ro("note", &rt::SubgraphInfo::note, "Why compiling again would be better, \"\" = it would not.")
      .def("__repr__", [](const rt::SubgraphInfo& s) { return nb::str("SubgraphInfo({} on {}, plugin {})").format(s.index, s.device, s.plugin); });
  nb::class_<rt::ProfileEvent>(m, "ProfileEvent", "One event of a profile; times are nanoseconds of the monotonic clock.")
      .def_ro("kind", &rt::ProfileEvent::kind)
      .def_ro("name", &rt::ProfileEvent::name)
      .def_prop_ro("start_ns", [](const rt::ProfileEvent& e) { return e.start.count(); })
      .def_prop_ro("duration_ns", [](const rt::ProfileEvent& e) { return e.duration.count(); })
      .def_ro("index", &rt::ProfileEvent::index, "Of the subgraph, or of the input or output that was copied.")
      .def_ro("track", &rt::ProfileEvent::track, "The request's number, 0 = the model.")
      .def("__repr__", [](const rt::ProfileEvent& e) { return nb::str("ProfileEvent({}, {!r}, {} ns)").format(nb::cast(e.kind), e.name, e.duration.count()); });
}

/// Models and contexts are let go without Python's lock: their threads may be about to log.
using Model = Unlocked<rt::Model>;
using Context = Unlocked<rt::Context>;

void bind_model(nb::module_& m) {
  nb::class_<Model>(m, "Model", "A loaded package. Any thread.")
      .def_prop_ro("inputs", [](const Model& model) { return (*model).getInputInfos(); })
      .def_prop_ro("outputs", [](const Model& model) { return (*model).getOutputInfos(); })
      .def_prop_ro("subgraphs", [](const Model& model) { return (*model).getSubgraphInfos(); })
      .def("profile", [](const Model& model) { return (*model).getProfileData(); })
      .def("create_request", [](const Model& model) {
        std::optional<rt::InferRequest> made;
        {
          const nb::gil_scoped_release unlocked;
          made.emplace((*model).createRequest());
        }
        std::vector<std::string> inputs;
        for (const rt::TensorInfo& info : (*model).getInputInfos()) inputs.push_back(info.name);
        return new Request(std::move(*made), std::move(inputs));
      }, nb::rv_policy::take_ownership);
}

/// A function of Python for the library's lines. It is kept until the process ends, as the library wants.
std::function<void(rt::LogLevel, const char*, const char*)> logger(nb::object log) {
  if (log.is_none()) return {};
  const PyObject* kept = log.release().ptr();
  return [kept](rt::LogLevel level, const char* component, const char* text) {
    if (!python_is_there()) return;
    const nb::gil_scoped_acquire lock;
    const nb::handle f(const_cast<PyObject*>(kept));
    try {
      f(level, component, text);
    } catch (nb::python_error& raised) {
      raised.discard_as_unraisable(f);
    }
  };
}

Context make_context(std::vector<std::string> folders, std::vector<std::pair<std::string, std::string>> settings, uint32_t workers, int64_t threads,
                     bool allow_writable, nb::object log, rt::LogLevel level) {
  rt::ContextOptions options;
  options.plugin_folders = std::move(folders);
  options.settings = std::move(settings);
  options.workers = workers;
  options.threads = threads;
  options.allow_writable = allow_writable;
  options.log = logger(std::move(log));
  options.log_level = level;
  const nb::gil_scoped_release unlocked;
  return Context(rt::Context(options));
}

/// progress(fraction, stage); False stops the load, and so does what it raises, which comes out of the load.
Model load_model(Context& context, const std::string& path, nb::object progress) {
  std::optional<nb::python_error> raised;
  rt::Context::LoadProgress report;
  if (!progress.is_none())
    report = [&](double fraction, const char* stage) {
      const nb::gil_scoped_acquire lock;
      if (raised) return false;
      try {
        const nb::object answer = progress(fraction, stage);
        return answer.ptr() != Py_False;
      } catch (nb::python_error& error) {
        raised.emplace(std::move(error));
        return false;
      }
    };
  try {
    const nb::gil_scoped_release unlocked;
    return Model((*context).loadModel(path, report));
  } catch (const rt::Error&) {
    if (raised) throw nb::python_error(std::move(*raised));
    throw;
  }
}

void bind_context(nb::module_& m) {
  nb::class_<Context>(m, "Context", "Plugins and threads. Any thread.")
      .def("__init__", [](Context* self, std::vector<std::string> folders, std::vector<std::pair<std::string, std::string>> settings, uint32_t workers, int64_t threads,
                          bool allow_writable, nb::object log, rt::LogLevel level) {
             new (self) Context(make_context(std::move(folders), std::move(settings), workers, threads, allow_writable, std::move(log), level));
           }, nb::arg("plugin_folders"), nb::arg("settings"), nb::arg("workers"), nb::arg("threads"), nb::arg("allow_writable"), nb::arg("log").none(), nb::arg("log_level"))
      .def("load_model", load_model, nb::arg("path"), nb::arg("progress").none())
      .def("load_extension", [](Context& context, const std::string& folder) { (*context).loadExtension(folder); }, nb::arg("folder"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("devices", [](const Context& context) { return (*context).getAvailableDevices(); }, nb::call_guard<nb::gil_scoped_release>());
}

void bind_checksum(nb::module_& m) {
  m.def("checksum", [](const std::vector<std::pair<uintptr_t, size_t>>& ranges) {
    const nb::gil_scoped_release unlocked;
    uint64_t sum = 0;
    for (const auto& [address, size] : ranges) sum = checksum(reinterpret_cast<const void*>(address), size, sum);
    return sum;
  }, nb::arg("ranges"), "Of bytes of this process, (address, size) each: whether they are still what they were.");
}

/// rt::Error becomes what optima.errors makes of it.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const rt::Error& e) {
    const nb::object error = nb::module_::import_("optima.errors").attr("of_runtime")(e.code(), e.what());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

}  // namespace
}  // namespace optima::python

NB_MODULE(_runtime, m) {
  using namespace optima::python;
  // Requests, models and contexts may be left when Python ends; the process frees them.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  m.doc() = "The runtime library for Python, as optima.runtime wants it.";
  m.attr("library_version") = nb::make_tuple(optima_rt_version() >> 16, optima_rt_version() & 0xffff);
  bind_enums(m);
  bind_infos(m);
  bind_tensor(m);
  bind_request(m);
  bind_model(m);
  bind_context(m);
  bind_checksum(m);
}
