// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see stretch.hpp.
#include "plugins/llvm_cpu/fit/stretch.hpp"

#include <unordered_map>

#include "optima/plugin/repack.hpp"
#include "plugins/llvm_cpu/compiler/of_sizes.hpp"

namespace optima::llvm_cpu {
namespace {

class Builder {
 public:
  Builder(const optima_graph& from, const KnownValue& known, const SameValue& same, std::vector<uint32_t>& takes, std::vector<uint32_t>& sources,
          std::vector<std::shared_ptr<const void>>& kept, std::vector<optima_blob>& blobs)
      : from_(from), known_(known), same_(same), takes_(takes), sources_(sources), kept_(kept), blobs_(blobs) {
    contents_.graphs.emplace_back().name = "stretch";
  }

  void add(const sdk::Node& n) {
    image::Node out{std::string(n.name()), std::string(n.op()), std::string(n.domain()), n.id(), n.since_version(), {}, {}, {}, n.raw().flags};
    for (uint32_t k = 0; k < n.input_count(); ++k) out.inputs.push_back(read(n.input(k)));
    for (uint32_t k = 0; k < n.output_count(); ++k) out.outputs.push_back(made(n.output(k)));
    for (uint32_t k = 0; k < n.attr_count(); ++k) out.attrs.push_back(sdk::repacked(n.attr(k), [this](const sdk::Constant& c) { return constant(c); }));
    main().nodes.push_back(std::move(out));
  }

  void give(uint32_t value) { main().outputs.push_back(read(sdk::Value(&from_, value))); }

  image::Bytes pack() {
    sdk::repack_opsets(from_.image, contents_);
    return image::pack(contents_);
  }

 private:
  image::Graph& main() { return contents_.graphs[0]; }

  uint32_t constant(const sdk::Constant& c) {
    contents_.constants.push_back({c.dtype(), c.shape(), c.blob_index()});
    return static_cast<uint32_t>(contents_.constants.size() - 1);
  }

  uint32_t constant(const reference::Tensor& t) {
    optima_blob blob{};
    blob.struct_size = sizeof blob, blob.data = t.data, blob.size = t.size, blob.fd = -1;
    contents_.constants.push_back({t.dtype, t.dims, static_cast<uint32_t>(blobs_.size())});
    blobs_.push_back(blob);
    kept_.push_back(t.keeper);
    return static_cast<uint32_t>(contents_.constants.size() - 1);
  }

  uint32_t add_value(const sdk::Value& v, const std::vector<int64_t>& dims, uint32_t constant, std::string_view name = {}) {
    image::Value out{std::string(name), v.dtype(), std::vector<image::Dim>(), constant};  // most are nameless: plans speak of nodes
    for (const int64_t d : dims) out.dims->push_back({d, {}});
    main().values.push_back(std::move(out));
    sources_.push_back(v.index());
    return numbers_[v.index()] = static_cast<uint32_t>(main().values.size() - 1);
  }

  const std::vector<int64_t>& dims(const sdk::Value& v) const {
    const reference::Tensor& t = known_(v.index());
    if (t.dtype == OPTIMA_UNDEFINED) throw sdk::Error(OPTIMA_INTERNAL, "value '" + std::string(v.name()) + "' is planned before its size is known");
    return t.dims;
  }

  uint32_t made(const sdk::Value& v) { return v ? add_value(v, dims(v), OPTIMA_NONE) : OPTIMA_NONE; }

  uint32_t read(const sdk::Value& named) {
    if (!named) return OPTIMA_NONE;
    const sdk::Value v(&from_, same_(named.index()));
    if (const auto at = numbers_.find(v.index()); at != numbers_.end()) return at->second;
    if (v.is_constant()) return add_value(v, v.constant().shape(), constant(v.constant()));
    const reference::Tensor& t = known_(v.index());
    if (has_elements(t)) return add_value(v, t.dims, constant(t), kOfSizes);
    takes_.push_back(v.index());
    const uint32_t at = add_value(v, dims(v), OPTIMA_NONE);
    main().inputs.push_back(at);
    return at;
  }

  const optima_graph& from_;
  const KnownValue& known_;
  const SameValue& same_;
  std::vector<uint32_t>&takes_, &sources_;
  std::vector<std::shared_ptr<const void>>& kept_;
  std::vector<optima_blob>& blobs_;
  image::Contents contents_;
  std::unordered_map<uint32_t, uint32_t> numbers_;
};

}  // namespace

Stretch::Stretch(const optima_graph& from, const std::vector<uint32_t>& nodes, const std::vector<uint32_t>& gives, const KnownValue& known,
                 const SameValue& same)
    : gives_(gives), borrowed_(from.blob_count), blobs_(from.blobs, from.blobs + from.blob_count) {
  Builder builder(from, known, same, takes_, sources_, kept_, blobs_);
  for (const uint32_t n : nodes) builder.add(sdk::Node(&from, optima_get_node(from.image, n)));
  for (const uint32_t v : gives) builder.give(v);
  bytes_.emplace(builder.pack());
  raw_ = std::make_unique<optima_graph>(optima_graph{sizeof(optima_graph), 0, bytes_->image(), blobs_.data(), static_cast<uint32_t>(blobs_.size()), 0, {}});
}

Changes Stretch::move(const std::vector<reference::ShapeWalk::Change>& changed, const KnownValue& known) {
  Changes out{std::vector<bool>(sources_.size()), std::vector<const void*>(sources_.size())};
  for (uint32_t v = 0; v < sources_.size(); ++v) {
    const reference::Tensor& t = known(sources_[v]);
    out.changed[v] = changed[sources_[v]] != reference::ShapeWalk::Change::None;
    out.known[v] = identity(v, t);
    if (!out.changed[v]) continue;
    put_dims(v, t.dims);
    if (optima_get_value(raw_->image, v)->constant != OPTIMA_NONE) put_elements(v, t);
  }
  return out;
}

/// One that another value has, too, where all is the same that a plan may hang on. The walk does not read long constants, which are like no others here.
const void* Stretch::identity(uint32_t value, const reference::Tensor& known) const {
  const uint32_t constant = optima_get_value(raw_->image, value)->constant;
  if (known.dtype == OPTIMA_UNDEFINED) return optima_get_value(raw_->image, value);
  if (constant != OPTIMA_NONE && !has_elements(known)) return optima_get_constant(raw_->image, constant);
  return &known;
}

// What is written to are the stretch's own bytes, which the image shows as constant.
void Stretch::put_dims(uint32_t value, const std::vector<int64_t>& dims) {
  const optima_slice& slice = optima_get_value(raw_->image, value)->dims;
  for (uint32_t d = 0; d < slice.count; ++d) const_cast<optima_dim*>(optima_get_dim(raw_->image, slice.first + d))->value = dims[d];
}

void Stretch::put_elements(uint32_t value, const reference::Tensor& known) {
  const optima_constant& c = *optima_get_constant(raw_->image, optima_get_value(raw_->image, value)->constant);
  for (uint32_t d = 0; d < c.dims.count; ++d) *const_cast<int64_t*>(optima_get_int(raw_->image, c.dims.first + d)) = known.dims[d];
  blobs_[c.blob].data = known.data, blobs_[c.blob].size = known.size;
  kept_[c.blob - borrowed_] = known.keeper;
}

}  // namespace optima::llvm_cpu
