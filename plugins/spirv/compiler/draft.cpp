// SPDX-License-Identifier: Apache-2.0
#include "draft.hpp"

#include <algorithm>

namespace spirv_plugin {
namespace {

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Never nothing: a buffer without a byte cannot be bound.
uint64_t bytes_of(Element element, const std::vector<int64_t>& dims) {
  return std::max<uint64_t>(4, (static_cast<uint64_t>(elements_of(dims)) * size_of(element) + 3) / 4 * 4);
}

/// When a tensor of the arena is in use: steps, both inside; -1 is before the first.
struct Life {
  int64_t first = INT64_MAX, last = -2;
  void touch(int64_t step) { first = std::min(first, step), last = std::max(last, step); }
};

struct Region {
  uint64_t offset, bytes;
};

/// First fit by size, the largest first: each gets the lowest place that is free for all of its life. Returns the arena's size.
uint64_t place(std::vector<DraftTensor>& tensors, const std::vector<Life>& lives, uint64_t block) {
  std::vector<uint32_t> order;
  for (uint32_t k = 0; k < tensors.size(); ++k)
    if (tensors[k].place == Place::Arena && lives[k].last >= lives[k].first) order.push_back(k);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return tensors[a].bytes > tensors[b].bytes; });
  uint64_t size = 0;
  std::vector<uint32_t> done;
  for (const uint32_t k : order) {
    std::vector<Region> taken;
    for (const uint32_t other : done)
      if (lives[other].first <= lives[k].last && lives[k].first <= lives[other].last) taken.push_back({tensors[other].offset, aligned(tensors[other].bytes)});
    std::sort(taken.begin(), taken.end(), [](const Region& a, const Region& b) { return a.offset < b.offset; });
    uint64_t at = 0;
    for (const Region& r : taken) {
      if (at + aligned(tensors[k].bytes) <= r.offset) break;
      at = in_block(std::max(at, r.offset + r.bytes), tensors[k].bytes, block);
    }
    tensors[k].offset = at;
    size = std::max(size, at + aligned(tensors[k].bytes));
    done.push_back(k);
  }
  return size;
}

bool overlap(const DraftTensor& a, const DraftTensor& b) {
  return a.place == Place::Arena && b.place == Place::Arena && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

Tensor Draft::add(std::string name, Element element, std::vector<int64_t> dims) {
  tensors_.push_back({std::move(name), element, bytes_of(element, dims)});
  return {static_cast<uint32_t>(tensors_.size() - 1), element, std::move(dims)};
}

Tensor Draft::add_weight(std::string name, Element element, std::vector<int64_t> dims, Weights::Maker make) {
  const uint64_t bytes = bytes_of(element, dims);
  tensors_.push_back({std::move(name), element, bytes, Place::Weights, 0, weights_.add(bytes, std::move(make))});
  return {static_cast<uint32_t>(tensors_.size() - 1), element, std::move(dims)};
}

Plan Draft::placed(std::vector<PortPlan> inputs, std::vector<PortPlan> outputs, bool guarded, uint64_t block, const std::function<uint32_t(size_t, size_t)>& kernel_of) const {
  Plan plan;
  std::vector<DraftTensor> tensors = tensors_;
  for (DraftTensor& t : tensors)
    if (t.place == Place::Weights) t.offset = weights_.offset(t.piece);
  if (guarded) {
    plan.guard = static_cast<uint32_t>(tensors.size());
    tensors.push_back({"guard", Element::I32, 4});
  }
  std::vector<Life> lives(tensors.size());
  const auto count = static_cast<int64_t>(steps_.size());
  for (const PortPlan& p : inputs) lives[p.tensor].touch(-1);
  for (const PortPlan& p : outputs) lives[p.tensor].touch(count);
  for (size_t s = 0; s < steps_.size(); ++s)
    for (const uint32_t t : steps_[s].ways[0].shader.tensors()) lives[t].touch(static_cast<int64_t>(s));
  if (guarded) lives[plan.guard].touch(-1), lives[plan.guard].touch(count);
  plan.arena_bytes = place(tensors, lives, block), plan.weights_bytes = weights_.size();

  for (size_t s = 0; s < steps_.size(); ++s) {
    const DraftStep& from = steps_[s];
    StepPlan step{from.name, from.node, from.ways[0].shader.tensors(), from.ways[0].shader.written(), {}, {}, from.work.flops, from.work.bytes};
    if (guarded) step.tensors.push_back(plan.guard), step.written.push_back(static_cast<uint32_t>(step.tensors.size() - 1));
    for (size_t w = 0; w < from.ways.size(); ++w) step.ways.push_back({kernel_of(s, w), from.ways[w].groups});
    const auto writes = [](const StepPlan& p, size_t binding) { return std::find(p.written.begin(), p.written.end(), binding) != p.written.end(); };
    for (uint32_t before = 0; before < s; ++before) {
      const StepPlan& other = plan.steps[before];
      bool shares = false;
      for (size_t a = 0; a < step.tensors.size() && !shares; ++a)
        for (size_t b = 0; b < other.tensors.size() && !shares; ++b)
          shares = (writes(step, a) || writes(other, b)) && overlap(tensors[step.tensors[a]], tensors[other.tensors[b]]);
      if (shares) step.after.push_back(before);
    }
    plan.steps.push_back(std::move(step));
  }
  for (const DraftTensor& t : tensors) plan.tensors.push_back({t.name, t.element, t.place, t.offset, t.bytes});
  plan.inputs = std::move(inputs), plan.outputs = std::move(outputs);
  return plan;
}

}  // namespace spirv_plugin
