// SPDX-License-Identifier: Apache-2.0
// core/package: is a tensor of one type on both sides of a body's door, and of whole bytes where it goes through in slices. The runtime
// hands bytes over there without a look at types.
#include "core/package/meta_parts.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima::detail {
namespace {

struct End {
  std::string_view name;
  int32_t dtype = OPTIMA_UNDEFINED;  // also of what is not there: null, or a name that is refused elsewhere
};

class Door {
 public:
  Door(const std::vector<PackageTensor>& around, const FlowNode& node, const FlowBody& body) : around_(around), node_(node), body_(body) {}

  Status check() const {
    OPTIMA_RETURN_IF_ERROR(captures());
    if (node_.op == "If") return branch();
    return node_.op == "Loop" ? loop() : scan();
  }

 private:
  Status captures() const {
    const size_t first = body_.inputs.size() - body_.captures.size();
    for (size_t i = 0; i < body_.captures.size(); ++i) OPTIMA_RETURN_IF_ERROR(same(in(first + i), tensor(around_, body_.captures[i])));
    return {};
  }

  Status branch() const {
    OPTIMA_RETURN_IF_ERROR(same(given(0), {"a condition", OPTIMA_BOOL}));
    return results(0);
  }

  Status loop() const {
    const End trips{"a trip count", OPTIMA_I64}, condition{"a condition", OPTIMA_BOOL};
    for (const End& end : {given(0), in(0)}) OPTIMA_RETURN_IF_ERROR(same(end, trips));
    for (const End& end : {given(1), in(1), out(0)}) OPTIMA_RETURN_IF_ERROR(same(end, condition));
    OPTIMA_RETURN_IF_ERROR(carried(2, node_.inputs.size() - 2, 1));
    OPTIMA_RETURN_IF_ERROR(pieces());
    return results(1);
  }

  Status scan() const {
    OPTIMA_RETURN_IF_ERROR(carried(0, node_.inputs.size() - node_.scan_inputs.size(), 0));
    for (size_t k = node_.inputs.size() - node_.scan_inputs.size(); k < node_.inputs.size(); ++k) {
      OPTIMA_RETURN_IF_ERROR(same(in(k), given(k)));
      OPTIMA_RETURN_IF_ERROR(whole(in(k)));
    }
    OPTIMA_RETURN_IF_ERROR(pieces());
    return results(0);
  }

  // Values that go around from input `first_in` to output `first_out`.
  Status carried(size_t first_in, size_t count, size_t first_out) const {
    for (size_t k = 0; k < count; ++k) {
      OPTIMA_RETURN_IF_ERROR(same(in(first_in + k), given(first_in + k)));
      OPTIMA_RETURN_IF_ERROR(same(out(first_out + k), in(first_in + k)));
    }
    return {};
  }

  // What the body's last outputs give in each trip.
  Status pieces() const {
    for (size_t k = body_.outputs.size() - node_.scan_outputs.size(); k < body_.outputs.size(); ++k) OPTIMA_RETURN_IF_ERROR(whole(out(k)));
    return {};
  }

  // Outputs of the node are those of the body from `first` on.
  Status results(size_t first) const {
    for (size_t k = 0; k < node_.outputs.size(); ++k)
      if (!node_.outputs[k].empty()) OPTIMA_RETURN_IF_ERROR(same(out(first + k), tensor(around_, node_.outputs[k])));
    return {};
  }

  static End tensor(const std::vector<PackageTensor>& tensors, const std::string& name) {
    const PackageTensor* found = find_tensor(tensors, name);
    return {name, found ? found->dtype : OPTIMA_UNDEFINED};
  }
  End in(size_t i) const { return tensor(body_.tensors, body_.inputs[i]); }
  End out(size_t i) const { return tensor(body_.tensors, body_.outputs[i]); }
  End given(size_t i) const {
    const FlowInput& input = node_.inputs[i];
    return input.weight.empty() ? tensor(around_, input.tensor) : End{"a constant", input.dtype};
  }

  static Status same(const End& inner, const End& outer) {
    if (inner.dtype == outer.dtype || inner.dtype == OPTIMA_UNDEFINED || outer.dtype == OPTIMA_UNDEFINED) return {};
    return invalid_input(cat(quote(inner.name), " is ", dtype_name(inner.dtype), ", wanted ", dtype_name(outer.dtype), " as ", outer.name));
  }

  // Slices start at whole bytes.
  static Status whole(const End& end) {
    if (optima_dtype_bits(end.dtype) % 8 == 0) return {};
    return invalid_input(cat(quote(end.name), " is ", dtype_name(end.dtype), ", wanted elements of whole bytes as a slice of a scanned tensor"));
  }

  const std::vector<PackageTensor>& around_;
  const FlowNode& node_;
  const FlowBody& body_;
};

}  // namespace

Status check_flow_types(const std::vector<PackageTensor>& around, const FlowNode& node, const FlowBody& body) { return Door(around, node, body).check(); }

}  // namespace optima::detail
