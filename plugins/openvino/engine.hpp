// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: OpenVINO's core, its devices, and how its exceptions and types look on our side.
#pragma once

#include <mutex>

#include <openvino/openvino.hpp>
#include <openvino/runtime/exception.hpp>
#include <optional>

#include "optima/plugin/plugin.hpp"
#include "said.hpp"

namespace openvino_plugin {

namespace sdk = optima::sdk;

/// Runs `body`; an exception of OpenVINO becomes Error(code, thing + its sentence), or Error(MEMORY) when memory was missing.
template <class F>
auto guarded(int32_t code, const std::string& thing, F&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const sdk::Error&) {
    throw;
  } catch (const ov::Cancelled&) {
    throw sdk::Error(OPTIMA_CANCELLED, "cancelled");
  } catch (const std::bad_alloc&) {
    throw sdk::Error(OPTIMA_MEMORY, thing + ": out of memory");
  } catch (const std::exception& e) {
    if (is_out_of_memory(e.what())) throw sdk::Error(OPTIMA_MEMORY, thing + ": out of memory");
    throw sdk::Error(code, thing + ": " + one_line(e.what()));
  } catch (...) {
    throw sdk::Error(code, thing + ": unknown exception inside OpenVINO");
  }
}

std::string version();

/// OPTIMA_UNDEFINED / nullopt for types that do not cross.
int32_t dtype_of(ov::element::Type type);
std::optional<ov::element::Type> type_of(int32_t dtype);

/// The process's connection to OpenVINO, made at the first use. Any thread.
class Engine {
 public:
  ov::Core& core();
  /// What OpenVINO can use here, and of its other kinds (INTELGPU, NPU, MYRIAD) why not, in its own words where it has any.
  std::vector<sdk::PresentDevice> devices();
  /// "CPU", "GPU.1", "NPU". DEPENDENCY when OpenVINO has no such device here.
  std::string device_name(const sdk::Device& device);

 private:
  std::vector<std::string> available();

  std::once_flag once_;
  std::unique_ptr<ov::Core> core_;
};

}  // namespace openvino_plugin
