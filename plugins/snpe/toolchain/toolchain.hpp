// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: the tools that make and run Qualcomm's files, behind one interface. Three routes have it: the public wheels
// onnxruntime + onnxruntime-qnn (wheels.hpp), a SNPE or QAIRT SDK (sdk.hpp), and such an SDK's runtime alone (runtime_only.hpp), which makes no files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "optima/plugin/bounds.hpp"
#include "optima/plugin/float_graph.hpp"
#include "optima/plugin/plugin.hpp"
#include "soc.hpp"

namespace snpe_plugin {

namespace sdk = optima::sdk;

/// What a route needs whose tools take a float model and quantize it themselves: codes of the model's values, and data for values that have
/// none. quantized_of() (quantized.hpp) makes it; who calls build() hands it on in Target::quantized, whatever the route.
struct Quantized {
  using Codes = sdk::FloatGraph::Codes;  ///< values by their names in the float model
  std::vector<Codes> codes;       ///< sorted by name
  bool in_graph = false;          ///< the model itself holds codes: it was quantized by the host or before
  uint32_t samples = 0;           ///< representative data; 0 = none
  /// Dense bytes of an input of the model in one sample, of the input's type. Throws NOT_FOUND when it cannot be had from the user's data, and as
  /// Calibration::read() does. One thread at a time.
  std::function<std::string(uint32_t sample, uint32_t input)> read;
  /// Writes `folder`/model.onnx like the one that build() gets, but in floats: constants are those that their codes stand for, pairs of
  /// QuantizeLinear and DequantizeLinear are gone but where codes cross the border. Names are kept. Empty where in_graph is false.
  std::function<void(const std::string& folder)> write_float;
};

/// What files are made for.
struct Target {
  std::string kind;               ///< "HEXAGON", "ADRENO", "SNPE_CPU"
  std::vector<const Soc*> socs;   ///< of HEXAGON, in the user's order, at least one; checks and emulated runs are for the first
  std::string precision = "fp16"; ///< what float operators are computed in: "fp16", or "fp32" where the kind can
  const Quantized* quantized = nullptr;  ///< outlives the call; null: no codes and no data
};

/// The call's own copies live for the call.
using Bounds = sdk::ToolBounds;

/// Which route answered, for `plugins`, artifacts and messages.
struct Facts {
  std::string route;    ///< "wheels" or "sdk"
  std::string version;  ///< "onnxruntime 1.31.1 + onnxruntime-qnn 2.7.0", "SNPE v2.22.6", "QAIRT 2.30"
  std::string root;     ///< folder it was found in
};

/// The tools' own word on one node of a model, by the name of the node's first present output.
struct Taken {
  std::string output;
  bool taken = false;
  std::string why;  ///< of a no: the tools' own sentence where they have one, one line, else empty
};

/// What build() left in Bounds::work. Paths are absolute.
struct Built {
  std::vector<std::string> dlcs;  ///< one per graph that the tools made of the model, in run order; usually one
  struct Context {
    const Soc* soc;
    std::string file;     ///< the Hexagon context binary; of the SDK route a DLC that holds one
    std::string wrapper;  ///< what the route needs beside it to run it (an ONNX file with EPContext nodes); empty = nothing
  };
  std::vector<Context> contexts;  ///< one per SoC of HEXAGON, in their order; empty for other kinds
  /// Tensors at the border that the files call or lay out otherwise than the model does (Port::file_name, Port::layout); usually none.
  struct Border {
    std::string name, file_name, layout;
  };
  std::vector<Border> borders;
};

/// A model that is loaded and can be run. One call at a time.
class Session {
 public:
  virtual ~Session() = default;
  /// Dense tensors in the order of the artifact's ports, host memory. Throws CANCELLED or TIMEOUT when `stop` says so, TOOL_FAILED when the
  /// child dies; the next call then starts anew by itself.
  virtual void run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* stop) = 0;
  struct Event {
    std::string name;
    uint64_t start_ns, duration_ns;  ///< from the run's own beginning
  };
  /// Clocks on or off from the next run; events of the runs since the last call. Empty where the route keeps none.
  virtual void profile(bool on) = 0;
  virtual std::vector<Event> events() = 0;
};

/// A tensor at a model's border.
struct Port;

/// What a session is opened on: files of an artifact, as paths.
struct Loadable {
  std::string kind;            ///< "HEXAGON", "ADRENO", "SNPE_CPU"
  std::vector<std::string> dlcs;  ///< in run order; routes that run DLCs
  std::string context, wrapper;  ///< of the SoC that is run; may be empty. A context without a wrapper is a DLC, prepared for that SoC
  const Soc* soc = nullptr;    ///< null: no Hexagon
  const std::vector<Port>* inputs = nullptr;
  const std::vector<Port>* outputs = nullptr;
  std::string performance = "high_performance";  ///< SDK route: as snpe-net-run's --perf_profile
  bool fallback = false;       ///< SDK route: the CPU may take it where the device is not there
};

class Toolchain {
 public:
  virtual ~Toolchain() = default;
  virtual const Facts& facts() const = 0;
  /// One sentence why this kind cannot be compiled for, or run here, by this route; empty = it can.
  virtual std::string cannot_compile(const Target& target) const = 0;
  virtual std::string cannot_run(const std::string& kind) const = 0;
  /// Which nodes of `folder`/model.onnx the first SoC takes, by the tools' own validation; an entry per node that computes anything. Any thread.
  virtual std::vector<Taken> assign(const std::string& folder, const Target& target, const Bounds& bounds) = 0;
  /// Files for the whole of `folder`/model.onnx, fixed shapes only. Throws UNSUPPORTED with the tools' words when they do not take all of it,
  /// TOOL_FAILED, TIMEOUT, CANCELLED, IO. Any thread.
  virtual Built build(const std::string& folder, const Target& target, const Bounds& bounds, const sdk::Progress& progress) = 0;
  /// Loads for running. Any thread.
  virtual std::unique_ptr<Session> open(const Loadable& what, const Bounds& bounds) = 0;
};

/// What to look for, from options of scope init, the environment and the place that scripts/setup installs to.
struct Wanted {
  std::string wheels;    ///< folder of a Python environment that holds the wheels; empty = not said
  std::string sdk_root;  ///< SNPE_ROOT, QAIRT_SDK_ROOT or option snpe.root; empty = not said
  std::string plugin_dir;  ///< the folder of this plugin's file, where the driver script lies
  std::string route;     ///< "auto", "wheels", "sdk"
};

/// The first route that is whole: an SDK that is named, its runtime alone, the wheels, then a runtime that the loader finds by itself. Null, with
/// `why` telling what is missing of each route by name and the command that installs one, when there is none. Starts no process but to ask
/// versions; any thread.
std::unique_ptr<Toolchain> find_toolchain(const Wanted& wanted, const sdk::Host& host, std::string& why);

}  // namespace snpe_plugin
