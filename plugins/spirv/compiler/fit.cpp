// SPDX-License-Identifier: Apache-2.0
#include "fit.hpp"

#include "measure.hpp"

namespace spirv_plugin {
namespace {

constexpr uint32_t kSpirv = 0x00010300;  // what kernels are compiled to

Requirements needs_of(const Draft& draft, const Shader& shader, const Measure& measure) {
  Requirements out;
  out.spirv = kSpirv, out.local = shader.local();
  out.shared_bytes = static_cast<uint32_t>(std::min<uint64_t>(measure.shared_bytes, UINT32_MAX));
  for (const uint32_t t : shader.tensors())
    if (draft.tensor(t).element == Element::F16) out.features = {"storageBuffer16BitAccess"};
  out.storage_buffers = static_cast<uint32_t>(shader.tensors().size());
  return out;
}

}  // namespace

std::string lacking(const Draft& draft, const DraftStep& step, const Limits& limits) {
  for (const Way& way : step.ways) {
    const Measure measure = measured(way.shader.text());
    if (measure.iterations > kMostIterations)
      return "needs " + std::to_string(measure.iterations) + " loop iterations of one invocation, wanted at most " + std::to_string(kMostIterations) + ": drivers end longer ones";
    if (&way != &step.ways.back()) continue;
    if (std::string why = missing(needs_of(draft, way.shader, measure), limits); !why.empty()) return why;
    if (std::string why = too_many_groups(way.groups, limits); !why.empty()) return why;
    for (const uint32_t t : way.shader.tensors())
      if (std::string why = too_large_to_bind(draft.tensor(t).name, draft.tensor(t).bytes, limits); !why.empty()) return why;
  }
  return "";
}

sdk::Verdict verdict_within(const sdk::Node& node, const Limits& limits, Element floats, bool winograd) {
  sdk::Verdict v = verdict_of(node);
  if (!v.yes()) return v;
  Draft draft;
  Lowering to(draft, limits, floats, winograd, floats == Element::F16 ? beyond_halves({node}) : std::set<uint32_t>{});
  const Group group{node};
  const Row& row = *row_of(node);
  row.lower ? row.lower(to, group) : to.pointwise(group);
  for (const DraftStep& step : draft.steps())
    if (std::string why = lacking(draft, step, limits); !why.empty()) return sdk::Verdict::refused(node, OPTIMA_REASON_SIZE_LIMIT, std::move(why));
  return v;
}

}  // namespace spirv_plugin
