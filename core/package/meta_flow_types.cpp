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
    for (const FlowRule& rule : signature_of(node_)->rules()) OPTIMA_RETURN_IF_ERROR(rule.as ? same(end(rule.end), end(*rule.as)) : whole(end(rule.end)));
    return {};
  }

 private:
  Status captures() const {
    const size_t first = body_.inputs.size() - body_.captures.size();
    for (size_t i = 0; i < body_.captures.size(); ++i) OPTIMA_RETURN_IF_ERROR(same(in(first + i), tensor(around_, body_.captures[i])));
    return {};
  }

  static End tensor(const std::vector<PackageTensor>& tensors, const std::string& name) {
    const PackageTensor* found = find_tensor(tensors, name);
    return {name, found ? found->dtype : OPTIMA_UNDEFINED};
  }
  End in(size_t i) const { return tensor(body_.tensors, body_.inputs[i]); }
  End given(size_t i) const {
    const FlowInput& input = node_.inputs[i];
    return input.weight.empty() ? tensor(around_, input.tensor) : End{"a constant", input.dtype};
  }
  End made(size_t i) const { return node_.outputs[i].empty() ? End() : tensor(around_, node_.outputs[i]); }
  End end(const FlowEnd& e) const {
    switch (e.at) {
      case FlowEnd::At::NodeInput: return given(e.index);
      case FlowEnd::At::NodeOutput: return made(e.index);
      case FlowEnd::At::BodyInput: return in(e.index);
      case FlowEnd::At::BodyOutput: return tensor(body_.tensors, body_.outputs[e.index]);
      case FlowEnd::At::TripCount: return {"a trip count", OPTIMA_I64};
      case FlowEnd::At::Condition: return {"a condition", OPTIMA_BOOL};
    }
    return {};
  }

  static Status same(const End& inner, const End& outer) {
    if (inner.dtype == outer.dtype || inner.dtype == OPTIMA_UNDEFINED || outer.dtype == OPTIMA_UNDEFINED) return {};
    return invalid_input(cat(quote(inner.name), " is ", dtype_name(inner.dtype), ", wanted ", dtype_name(outer.dtype), " as ", outer.name));
  }

  static Status whole(const End& end) {
    if (has_whole_bytes(end.dtype)) return {};
    return invalid_input(cat(quote(end.name), " is ", dtype_name(end.dtype), ", wanted elements of whole bytes as a slice of a scanned tensor"));
  }

  const std::vector<PackageTensor>& around_;
  const FlowNode& node_;
  const FlowBody& body_;
};

}  // namespace

Status check_flow_types(const std::vector<PackageTensor>& around, const FlowNode& node, const FlowBody& body) { return Door(around, node, body).check(); }

}  // namespace optima::detail
