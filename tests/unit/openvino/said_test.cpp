// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: texts of OpenVINO 2026.4's exceptions, as it threw them over the ONNX node tests, and the sentence that users see.
#include <doctest/doctest.h>

#include "plugins/openvino/said.hpp"

using openvino_plugin::is_out_of_memory;
using openvino_plugin::one_line;

namespace {

/// What the front end writes around the log of one operator.
std::string from_front_end(const std::string& op, const std::string& log) {
  return "Exception from src/inference/src/cpp/core.cpp:84:\nCheck 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:\n"
         "FrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted. Failed operations detailed log:\n-- " + op + " with a message:\n" + log +
         "\n\nSummary:\n-- Conversion is failed for: " + op + "\n\n\n\n";
}

struct Case {
  std::string raw, sentence;
};

const Case kCases[] = {
    {from_front_end("NegativeLogLikelihoodLoss-21",
                    "While validating ONNX node '<Node(NegativeLogLikelihoodLoss): z>': Check 'false' failed at src/frontends/onnx/frontend/src/core/node.cpp:566:\n"
                    "FrontEnd API failed with NotImplementedFailure:\nget_attribute is not implemented for this FrontEnd class\n"),
     "get_attribute is not implemented for this FrontEnd class"},
    {from_front_end("Range-21",
                    "While validating ONNX node '<Node(Range): steps>': Check 'input_shapes[1].rank().compatible(0)' failed at src/core/shape_inference/include/range_shape_inference.hpp:47:\n"
                    "While validating node 'opset4::Range Range_490515 (opset1::Constant zero[0]:i64[], opset1::Parameter W[0]:i64[?], opset1::Constant one[0]:i64[]) -> (dynamic[...])' with "
                    "friendly_name 'Range_490515':\n'stop' input is not a scalar\n"),
     "'stop' input is not a scalar"},
    {from_front_end("Dropout-21",
                    "Check '(ov::op::util::is_constant(ng_inputs.at(2).get_node_shared_ptr()))' failed at src/frontends/onnx/frontend/src/op/dropout.cpp:43:\n"
                    "While validating ONNX node '<Node(Dropout): y>':\nNon-constant training_mode input is not supported.\n"),
     "Non-constant training_mode input is not supported"},
    {from_front_end("Pad-21", "While validating ONNX node '<Node(Pad): y>': Exception from src/frontends/onnx/frontend/src/op/pad.cpp:32:\nUnsupported padding mode: [wrap]\n"),
     "Unsupported padding mode: [wrap]"},
    {from_front_end("Col2Im-21",
                    "While validating ONNX node '<Node(Col2Im): output>': Check 'is_two_elem_1d(output_size_shape)' failed at src/core/shape_inference/include/col2im_shape_inference.hpp:38:\n"
                    "While validating node 'opset15::Col2Im Col2Im_4961797 (opset1::Parameter input[0]:f32[1,10,12]) -> (dynamic[...])' with friendly_name 'Col2Im_4961797':\n"
                    "Shape inference input shapes {[1,10,12],[3],[3]}\noutput_size must be a 1D input of shape [2]. Got: [3]\n"),
     "Shape inference input shapes {[1,10,12],[3],[3]}; output_size must be a 1D input of shape [2]. Got: [3]"},
    {from_front_end("Celu-28",
                    "While validating ONNX node '<Node(Celu): Y>': Check 'element::Type::merge(result_et, node->get_input_element_type(0), node->get_input_element_type(1))' failed at "
                    "src/core/src/op/util/elementwise_args.cpp:18:\nWhile validating node 'opset1::Maximum Maximum_4527894 (opset1::Parameter X[0]:bf16[5], opset1::Constant c[0]:f32[]) -> "
                    "(dynamic[...])' with friendly_name 'Maximum_4527894':\nArguments do not have the same element type (arg0 element type: bf16, arg1 element type: f32).\n"),
     "Arguments do not have the same element type (arg0 element type: bf16, arg1 element type: f32)"},
    {from_front_end("If-21",
                    "While validating ONNX node '<Node(If): start_d>': Check 'then_results.size() == else_results.size()' failed at src/frontends/onnx/frontend/src/op/if.cpp:153:\n"
                    "FrontEnd API failed with GeneralFailure:\n'then' and 'else' branches have to have the same number of outputs\n\n-- Split-21 with a message:\n"
                    "While validating ONNX node '<Node(Split): N_else>': Check 'false' failed at src/frontends/onnx/frontend/src/utils/split.cpp:35:\n"
                    "FrontEnd API failed with GeneralFailure:\nThe split number is invalid\n"),
     "'then' and 'else' branches have to have the same number of outputs; The split number is invalid"},
    {"Exception from src/inference/src/cpp/core.cpp:84:\nCheck 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:\n"
     "FrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted.\nSummary:\n-- No conversion rule found for operations: Bernoulli-21\n\n\n\n",
     "No conversion rule found for operations: Bernoulli-21"},
    {"Exception from src/inference/src/cpp/infer_request.cpp:224:\nException from src/plugins/intel_cpu/src/node.cpp:794:\n"
     "[CPU] Reshape node with name '~model~y' Check 'minusOneCount <= 1 && inputProduct == outputProduct' failed at src/plugins/intel_cpu/src/shape_inference/custom/reshape.cpp:77:\n"
     "[cpu]reshape: the shape of input data (5) conflicts with the reshape pattern (2.3)\n\n\n\n",
     "[CPU] Reshape node with name 'y': [cpu]reshape: the shape of input data (5) conflicts with the reshape pattern (2.3)"},
    {"Exception from src/inference/src/cpp/infer_request.cpp:224:\nException from src/plugins/intel_cpu/src/graph.cpp:1443:\nNode n of type Reference\nthe reason\n\n",
     "Node n of type Reference: the reason"},
    {"Node n of type Reference\n", "Node n of type Reference"},
    {"Check 'rank == 4' failed at src/core/src/node.cpp:12:\n", "OpenVINO wants 'rank == 4'"},
    {"Exception from src/inference/src/cpp/core.cpp:84:\n\n", "OpenVINO gave no reason"},
    {"", "OpenVINO gave no reason"},
    {"locale::facet::_S_create_c_locale name not valid", "locale::facet::_S_create_c_locale name not valid"},
};

}  // namespace

TEST_CASE("OpenVINO's texts become one sentence: the reason, without its source places and what lies around") {
  for (const Case& c : kCases) CHECK(one_line(c.raw) == c.sentence);
  CHECK(one_line(std::string(1000, 'x')) == std::string(400, 'x') + "...");
}

TEST_CASE("missing memory is seen whatever OpenVINO wraps it into") {
  CHECK(is_out_of_memory("Exception from src/inference/src/dev/plugin.cpp:54:\nCheck 'ptr' failed at src/plugins/intel_cpu/src/cpu_memory.cpp:257:\n"
                         "Failed to allocate 4398046511104 bytes of memory\n"));
  CHECK(is_out_of_memory("std::bad_alloc"));
  CHECK(!is_out_of_memory(kCases[0].raw));
}
