// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: what users write after --input becomes tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/sizes/sizes.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// The input as the model wants it. `source` is a file (.npy, .npz with the input's name or a single member, .pb with a TensorProto, else raw
/// little-endian bytes) or `random[:seed]`. Types that NumPy lacks are taken from what write_npy makes of them. Of
/// texts (TensorInfo::texts) the file has the texts themselves (.npy, .npz, .pb of strings, .json), and their codes are given. InvalidInput for what cannot be read or has another type or shape.
Result<Tensor> load_input(const std::string& source, const TensorInfo& wanted);

/// `words` are `NAME=SOURCE`, or `SOURCE` alone for a model of one input or a .npz with all of them. Gives one tensor per
/// input of the model, in its order. InvalidInput for a name the model does not have, a name given twice, or an input not given.
Result<std::vector<Tensor>> load_inputs(const std::vector<std::string>& words, const std::vector<TensorInfo>& wanted);

/// A word of --shape: the input's name, the last '=', and sizes of 0 or more with commas or x between them, "image=1,3,224,224" or
/// "image=1x3x224x224", "image=1,3,48,?"; ? leaves a dim open, -1; nothing or "scalar" is no dims. Usage for anything else.
Result<std::pair<std::string, std::vector<int64_t>>> parse_shape(const std::string& word);

/// A word of --dim where one size is wanted: "width=320". Usage for anything else.
Result<std::pair<std::string, int64_t>> parse_dim(const std::string& word);

/// Gives inputs the sizes that `shapes` tell by name, and dims of one symbol the same size in all inputs. Usage for a name that is no input
/// (nearest shown) and for sizes that contradict the model's.
Status fix_shapes(const std::map<std::string, std::vector<int64_t>>& shapes, std::vector<TensorInfo>& inputs);
/// The same of open dims by their symbol, or by their place: "x.3" is the last of an image x. Usage for a name that no open dim has.
Status fix_dims(const std::map<std::string, int64_t>& dims, std::vector<TensorInfo>& inputs);

/// "input x: float32 1x3x1x1, sizes that the model leaves open are 1 (--shape x=...)", for an input whose sizes the model leaves open;
/// `known` is the input as the model wants it, `fixed` as fix_shapes() left it. Sizes of `usual` are called the package's. Empty when nothing is open.
std::string shape_line(const Tensor& tensor, const TensorInfo& known, const TensorInfo& fixed, bool random);

/// Name, type and shape of each, for --json.
Json inputs_json(const std::vector<Tensor>& inputs);

/// Any tensor file by itself, type and shape as the file says (.npy, .pb, or the only member of a .npz).
Result<Tensor> load_tensor(const std::string& path);

/// TensorInfo::usual of an input with these symbols: the opt of what is said of each, else its least size.
std::vector<int64_t> usual_sizes(const std::vector<std::string>& symbols, const SizeRanges& ranges);

/// Repeatable noise: floats even in [0, 1), int32 and int64, which are indices of something as a rule (of tokens, of the two kinds of a sentence), 0 or 1, other
/// integers in 0…9, truth values; the same seed, name and shape give the same bytes.
/// Dynamic dims have their usual size, else 1. InvalidInput for types without a size.
Result<Tensor> random_tensor(const TensorInfo& wanted, uint64_t seed);

/// InvalidInput unless type and shape are what the model wants: "input 'x': found float64 1x3, wanted float32 1x4".
Status check_tensor(const Tensor& tensor, const TensorInfo& wanted);

}  // namespace optima
