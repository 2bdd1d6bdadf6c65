// SPDX-License-Identifier: Apache-2.0
#include "core/compile/saved_samples.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/compile/own_operators.hpp"
#include "core/compile/run_reference.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/npy.hpp"
#include "core/tensor_io/save.hpp"

namespace optima::detail {
namespace {

/// One tensor over all samples, which lie along dim 0.
class Stack {
 public:
  Status add(uint32_t sample, uint32_t samples, Tensor t) {
    dtype_ = t.dtype;
    // Packed elements of two samples would share a byte: they are stacked as what a file holds of them.
    if (const uint32_t bits = optima_dtype_bits(t.dtype); bits == 0 || bits % 8 != 0) {
      const std::string text = write_npy(t);
      OPTIMA_ASSIGN(t, read_npy(std::as_bytes(std::span(text)), t.name));
    }
    if (sample == 0) OPTIMA_RETURN_IF_ERROR(make_room(samples, t));
    else if (!std::equal(t.shape.begin(), t.shape.end(), all_.shape.begin() + 1, all_.shape.end()))
      return invalid_input(cat("tensor ", quote(all_.name), ": found ", shape_text(t.shape), " in sample ", sample + 1, " and ",
                               shape_text(std::vector<int64_t>(all_.shape.begin() + 1, all_.shape.end())), " in the first, wanted samples of one size"));
    if (t.size) std::memcpy(all_.data + sample * t.size, t.data, t.size);
    return {};
  }
  const Tensor& all() const { return all_; }
  int32_t dtype() const { return dtype_; }

 private:
  Status make_room(uint32_t samples, const Tensor& first) {
    std::vector<int64_t> shape{samples};
    shape.insert(shape.end(), first.shape.begin(), first.shape.end());
    OPTIMA_ASSIGN(all_, Tensor::make(first.dtype, std::move(shape)));
    all_.name = first.name;
    return {};
  }

  Tensor all_;
  int32_t dtype_ = OPTIMA_UNDEFINED;  // of the model, which numpy may lack
};

class Keeper {
 public:
  Keeper(const CompileRequest& request, const Planned& planned, const Registry& registry)
      : request_(request), planned_(planned), registry_(registry), samples_(std::min(request.save_samples, request.calibration->samples)) {
    const image::Graph& main = planned.graph.main();
    for (const Subgraph& s : planned.plan.subgraphs)
      for (const uint32_t v : s.inputs) {
        stacks_[main.values[v].name];
        if (std::find(main.inputs.begin(), main.inputs.end(), v) == main.inputs.end()) computed_.insert(main.values[v].name);
      }
  }

  uint32_t samples() const { return samples_; }

  Status run(const ProgressReport& progress) {
    for (uint32_t sample = 0; sample < samples_; ++sample) {
      if (progress) progress(1, cat("keeping sample ", sample + 1, " of ", samples_));
      OPTIMA_ASSIGN(std::vector<Tensor> values, request_.calibration->inputs(sample));
      if (!computed_.empty()) {
        OPTIMA_ASSIGN(const std::vector<Tensor> made, run_reference(planned_.graph, values, evaluate_by_plugins(registry_), computed_, request_.cancelled));
        values.insert(values.end(), made.begin(), made.end());
      }
      OPTIMA_RETURN_IF_ERROR(add(sample, values));
    }
    return {};
  }

  Status write(PackageWriter& writer) const {
    Json subgraphs = Json::object();
    for (size_t i = 0; i < planned_.plan.subgraphs.size(); ++i) {
      OPTIMA_ASSIGN(Json tensors, write_subgraph(cat("Subgraph_", i), planned_.plan.subgraphs[i].input_names, writer));
      append_member(subgraphs, cat("Subgraph_", i), std::move(tensors));
    }
    return writer.add_file("calib/samples.json", to_text(Json{{"samples", samples_}, {"subgraphs", std::move(subgraphs)}}));
  }

 private:
  Status add(uint32_t sample, const std::vector<Tensor>& values) {
    size_t found = 0;
    for (const Tensor& t : values)
      if (const auto stack = stacks_.find(t.name); stack != stacks_.end()) {
        OPTIMA_RETURN_IF_ERROR(stack->second.add(sample, samples_, t));
        ++found;
      }
    return found == stacks_.size() ? Status() : internal_error(cat("sample ", sample + 1, " gave ", found, " of ", stacks_.size(), " tensors"));
  }

  Result<Json> write_subgraph(const std::string& folder, const std::vector<std::string>& names, PackageWriter& writer) const {
    Json out = Json::array();
    const std::vector<std::string> files = output_file_names(names);
    for (size_t k = 0; k < names.size(); ++k) {
      const Stack& stack = stacks_.at(names[k]);
      OPTIMA_RETURN_IF_ERROR(writer.add_file(cat("calib/", folder, "/", files[k]), write_npy(stack.all())));
      out.push_back({{"name", names[k]}, {"file", files[k]}, {"dtype", dtype_name(stack.dtype())}, {"shape", stack.all().shape}});
    }
    return out;
  }

  const CompileRequest& request_;
  const Planned& planned_;
  const Registry& registry_;
  const uint32_t samples_;
  std::map<std::string, Stack> stacks_;  // of every tensor that some subgraph reads
  std::set<std::string> computed_;       // those that are no inputs of the model
};

}  // namespace

Result<uint32_t> add_samples(const CompileRequest& request, const Planned& planned, const Registry& registry, PackageWriter& writer, const ProgressReport& progress) {
  Keeper keeper(request, planned, registry);
  const Status kept = keeper.run(progress);
  if (kept.kind() == StatusKind::Cancelled) return kept;
  OPTIMA_RETURN_IF_ERROR(kept.within("samples to keep"));
  OPTIMA_RETURN_IF_ERROR(keeper.write(writer));
  return keeper.samples();
}

}  // namespace optima::detail
