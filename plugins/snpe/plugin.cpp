// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: Qualcomm's Hexagon, Adreno and the CPU runtime of SNPE through the seam.
#include "optima/plugin/plugin.hpp"

#include "info.hpp"

namespace snpe_plugin {
namespace {

class Snpe : public sdk::Plugin, public sdk::Compiler {
 public:
  explicit Snpe(const sdk::Init& init) : host_(init.host) {}

  std::vector<sdk::PresentDevice> devices(std::string& why_none) override {
    why_none = "no tools of Qualcomm's: scripts/setup --with qualcomm installs the wheels, SNPE_ROOT or QAIRT_SDK_ROOT names a SDK";
    return {};
  }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    for (const sdk::Node& n : request.nodes()) report(sdk::judge(kInfo.operators, n));
  }

  void compile(const sdk::CompileRequest&, const sdk::Sink&, const sdk::Progress&) override {
    throw sdk::Error(OPTIMA_DEPENDENCY, "no tools of Qualcomm's: scripts/setup --with qualcomm installs the wheels, SNPE_ROOT or QAIRT_SDK_ROOT names a SDK");
  }

 private:
  sdk::Host host_;
};

}  // namespace
}  // namespace snpe_plugin

OPTIMA_PLUGIN(snpe_plugin::Snpe, snpe_plugin::kInfo)
