// SPDX-License-Identifier: Apache-2.0
#include "mend.hpp"

#include <openvino/op/broadcast.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/convert.hpp>
#include <openvino/op/gather.hpp>
#include <openvino/op/greater.hpp>
#include <openvino/op/gru_sequence.hpp>
#include <openvino/op/lstm_sequence.hpp>
#include <openvino/op/maximum.hpp>
#include <openvino/op/minimum.hpp>
#include <openvino/op/range.hpp>
#include <openvino/op/reshape.hpp>
#include <openvino/op/reverse_sequence.hpp>
#include <openvino/op/rnn_sequence.hpp>
#include <openvino/op/select.hpp>
#include <openvino/op/shape_of.hpp>
#include <openvino/op/slice.hpp>
#include <openvino/op/squeeze.hpp>
#include <openvino/op/topk.hpp>
#include <openvino/op/unsqueeze.hpp>
#include <openvino/op/util/multi_subgraph_base.hpp>
#include <openvino/op/util/topk_base.hpp>
#include <optional>
#include <set>

namespace openvino_plugin {
namespace {

using Output = ov::Output<ov::Node>;

/// The number of a constant of one.
std::optional<double> number(const Output& from) {
  const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(from.get_node_shared_ptr());
  if (!constant || ov::shape_size(constant->get_shape()) != 1) return std::nullopt;
  return constant->cast_vector<double>()[0];
}

/// A length, by the way it is made: OpenVINO knows patterns with Range over one, which stay as they are.
bool is_length(Output from) {
  while (true) {
    const ov::Node* n = from.get_node();
    if (ov::is_type<ov::op::v0::ShapeOf>(n) || ov::is_type<ov::op::v3::ShapeOf>(n)) return true;
    const bool passes = ov::is_type<ov::op::v0::Convert>(n) || ov::is_type<ov::op::v0::Squeeze>(n) || ov::is_type<ov::op::v15::Squeeze>(n) || ov::is_type<ov::op::v0::Unsqueeze>(n) ||
                        ov::is_type<ov::op::v1::Reshape>(n) || ov::is_type<ov::op::v1::Gather>(n) || ov::is_type<ov::op::v7::Gather>(n) || ov::is_type<ov::op::v8::Gather>(n);
    if (!passes) return false;
    from = n->input_value(0);
  }
}

/// The limit never lies behind the start.
void mend_range(ov::Node& range) {
  Output start = range.input_value(0), limit = range.input_value(1);
  const Output step = range.input_value(2);
  const std::optional<double> from = number(start), by = number(step);
  if (by && *by > 0 && from && *from <= 0 && is_length(limit)) return;
  if (const ov::element::Type a = start.get_element_type(), b = limit.get_element_type(); a != b) {  // a Range may mix them
    const ov::element::Type common = a.is_real() ? a : b;
    for (Output* one : {&start, &limit})
      if (one->get_element_type() != common) *one = std::make_shared<ov::op::v0::Convert>(*one, common);
  }
  const auto up = [&] { return std::make_shared<ov::op::v1::Maximum>(start, limit); };
  const auto down = [&] { return std::make_shared<ov::op::v1::Minimum>(start, limit); };
  Output mended;
  if (by) {
    mended = *by > 0 ? Output(up()) : Output(down());
  } else {
    const auto zero = ov::op::v0::Constant::create(step.get_element_type(), {}, {0});
    mended = std::make_shared<ov::op::v1::Select>(std::make_shared<ov::op::v1::Greater>(step, zero), up(), down());
  }
  range.input(1).replace_source_output(mended);
}

/// One is taken where none is wanted and one is there, and cut off again.
void mend_top(ov::op::util::TopKBase& top) {
  const Output data = top.input_value(0), k = top.input_value(1);
  if (number(k) || data.get_partial_shape().rank().is_dynamic()) return;
  const auto constant = [](int64_t n, ov::Shape shape = {1}) { return ov::op::v0::Constant::create(ov::element::i64, shape, {n}); };
  const auto axis = constant(static_cast<int64_t>(top.get_axis()));
  const auto length = std::make_shared<ov::op::v8::Gather>(std::make_shared<ov::op::v3::ShapeOf>(data), axis, constant(0, {}));
  const auto wanted = std::make_shared<ov::op::v1::Reshape>(std::make_shared<ov::op::v0::Convert>(k, ov::element::i64), constant(1), false);
  const auto least = std::make_shared<ov::op::v1::Minimum>(length, constant(1));
  const auto taken = std::make_shared<ov::op::v0::Squeeze>(std::make_shared<ov::op::v1::Maximum>(wanted, least), constant(0));
  top.input(1).replace_source_output(taken);
  for (Output out : top.outputs()) {
    const std::set<ov::Input<ov::Node>> readers = out.get_target_inputs();
    if (readers.empty()) continue;
    const auto cut = std::make_shared<ov::op::v8::Slice>(out, constant(0), wanted, constant(1), axis);
    cut->set_friendly_name(top.get_friendly_name() + "/cut" + std::to_string(out.get_index()));
    for (ov::Input<ov::Node> reader : readers) reader.replace_source_output(cut->output(0));
  }
}

bool is_recurrent(const std::shared_ptr<ov::Node>& op) {
  return ov::is_type<ov::op::v5::LSTMSequence>(op) || ov::is_type<ov::op::v5::GRUSequence>(op) || ov::is_type<ov::op::v5::RNNSequence>(op);
}

/// Sequences of one step each turned round, which changes nothing, stand between the transposition and the operator.
void mend_sequence(ov::Node& sequence) {
  const Output x = sequence.input_value(0);  // batch, time, features
  const ov::PartialShape shape = x.get_partial_shape();
  if (shape.rank().is_static() && (shape[0] == 1 || shape[1] == 1)) return;
  const auto batch = std::make_shared<ov::op::v8::Gather>(std::make_shared<ov::op::v3::ShapeOf>(x), ov::op::v0::Constant::create(ov::element::i64, {1}, {0}),
                                                         ov::op::v0::Constant::create(ov::element::i64, {}, {0}));
  const auto ones = std::make_shared<ov::op::v3::Broadcast>(ov::op::v0::Constant::create(ov::element::i32, {}, {1}), batch);
  sequence.input(0).replace_source_output(std::make_shared<ov::op::v0::ReverseSequence>(x, ones, 0, 1));
}

}  // namespace

void mend(ov::Model& model) {
  for (const std::shared_ptr<ov::Node>& op : model.get_ordered_ops()) {
    if (const auto* holder = ov::as_type<ov::op::util::MultiSubGraphOp>(op.get()))
      for (const std::shared_ptr<ov::Model>& body : holder->get_functions()) mend(*body);
    if (ov::is_type<ov::op::v0::Range>(op) || ov::is_type<ov::op::v4::Range>(op)) mend_range(*op);
    if (is_recurrent(op)) mend_sequence(*op);
    if (auto* top = ov::as_type<ov::op::util::TopKBase>(op.get())) mend_top(*top);
  }
}

}  // namespace openvino_plugin
