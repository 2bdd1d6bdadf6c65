// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see packed_forms.hpp.
#include "plugins/llvm_cpu/fit/packed_forms.hpp"

#include <map>

#include "plugins/llvm_cpu/plan/pack.hpp"

namespace optima::llvm_cpu {
namespace {

/// Matrices are left to the run that wants them: few rows have a form of their own, which most models never see.
bool is_of_image(const Pack& p) { return p.kind != Pack::None && p.kind != Pack::Channels && (p.in_block > 1 || p.kh * p.kw > 1); }

/// Packed bytes by form: blob and how it is packed. Those that plans compute have no blob and are not told of.
std::map<std::string, uint64_t> forms_of(const Leg& leg) {
  std::map<std::string, uint64_t> out;
  if (!leg.stretch) return out;
  const optima_graph& graph = leg.stretch->graph();
  std::map<std::string, uint32_t> blobs;
  for (const auto& [name, constant] : leg.draft.weights) blobs[name] = optima_get_constant(graph.image, constant)->blob;
  for (const Plan::Constant& c : leg.draft.plan.constants)
    if (!c.weight.empty() && is_of_image(c.pack)) out[std::to_string(blobs.at(c.weight)) + '|' + key_of(c.pack)] = c.packed_bytes;
  return out;
}

}  // namespace

uint64_t PackedForms::new_bytes(const Leg& leg) const {
  uint64_t sum = 0;
  for (const auto& [form, bytes] : forms_of(leg)) sum += known_.count(form) ? 0 : bytes;
  return sum;
}

void PackedForms::add(const Leg& leg) {
  for (const auto& [form, bytes] : forms_of(leg)) known_.insert(form);
}

}  // namespace optima::llvm_cpu
