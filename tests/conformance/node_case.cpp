// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/node_case.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "reference/tensor.hpp"

namespace optima::test {
namespace fs = std::filesystem;
using reference::Tensor;

namespace {

std::string bytes_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return all.str();
}

Tensor read_tensor(const fs::path& path) {
  const std::string all = bytes_of_file(path);
  const size_t line = all.find('\n');
  std::istringstream header(all.substr(0, line));
  Tensor t;
  header >> t.dtype;
  for (int64_t dim; header >> dim;) t.dims.push_back(dim);
  void* p = nullptr;
  const Tensor bytes = Tensor::make(OPTIMA_U8, {static_cast<int64_t>(all.size() - line - 1)}, &p);
  std::copy(all.begin() + static_cast<ptrdiff_t>(line) + 1, all.end(), static_cast<char*>(p));
  t.keeper = bytes.keeper, t.data = bytes.data, t.size = bytes.size;
  return t;
}

// The tensors of a sequence or optional; of an input also how many they are.
void read_list(const fs::path& file, bool input, NodeCase& c, std::vector<Tensor>& out) {
  std::istringstream line(bytes_of_file(file.string() + ".list"));
  std::string kind, name;
  int64_t count = 0;
  line >> kind >> name >> count;
  for (int64_t k = 0; k < count; ++k) out.push_back(read_tensor(file.string() + '_' + std::to_string(k) + ".tensor"));
  if (input) c.counts[name] = count;
  c.not_tensors = "a value is of kind " + kind, c.in_lists = true;
}

std::vector<Tensor> read_side(const fs::path& set, const std::string& side, NodeCase& c) {
  std::vector<Tensor> out;
  for (int i = 0;; ++i) {
    const fs::path file = set / (side + "_" + std::to_string(i));
    const fs::path tensor = file.string() + ".tensor", other = file.string() + ".other";
    if (fs::exists(other)) {
      c.not_tensors = "a value is of kind " + bytes_of_file(other), c.in_lists = false;
      return {};
    }
    if (fs::exists(file.string() + ".list")) read_list(file, side == "input", c, out);
    else if (fs::exists(tensor)) out.push_back(read_tensor(tensor));
    else return out;
  }
}

double last_place(int32_t dtype, double x) {
  int e = 0;
  std::frexp(x, &e);
  const int mantissa = dtype == OPTIMA_F16 ? 10 : dtype == OPTIMA_BF16 ? 7 : 60;
  return std::ldexp(1, e - 1 - mantissa);
}

bool close(double got, double wanted, const NodeCase& c, int32_t dtype) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  if (std::isinf(got) || std::isinf(wanted)) return got == wanted;
  return std::fabs(got - wanted) <= std::max(c.atol + c.rtol * std::fabs(wanted), 2 * last_place(dtype, wanted));
}

}  // namespace

std::vector<fs::path> case_folders(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

NodeCase read_case(const fs::path& folder) {
  NodeCase c;
  c.name = folder.filename();
  c.folder = folder;
  std::istringstream tolerance(bytes_of_file(folder / "tolerance"));
  tolerance >> c.rtol >> c.atol;
  for (int k = 0; fs::exists(folder / ("set_" + std::to_string(k))); ++k) {
    const fs::path set = folder / ("set_" + std::to_string(k));
    DataSet data;
    data.inputs = read_side(set, "input", c);
    data.outputs = read_side(set, "output", c);
    c.sets.push_back(std::move(data));
  }
  return c;
}

std::string difference(const Tensor& got, const Tensor& wanted, const NodeCase& c) {
  if (got.dtype != wanted.dtype) return "type " + reference::dtype_name(got.dtype) + ", wanted " + reference::dtype_name(wanted.dtype);
  if (got.dims != wanted.dims) return "shape " + reference::show(got.dims) + ", wanted " + reference::show(wanted.dims);
  if (is_random(c.name)) return {};
  if (got.dtype == OPTIMA_STRING) return reference::strings(got) == reference::strings(wanted) ? "" : "strings differ";
  const bool exact = !reference::is_float(got.dtype);
  const bool words = exact && !reference::is_minifloat(got.dtype);  // 64-bit integers do not fit a double
  if (words) {
    const auto a = reference::load<int64_t>(got), b = reference::load<int64_t>(wanted);
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", wanted " + std::to_string(b[i]);
    return {};
  }
  const auto a = reference::load<double>(got), b = reference::load<double>(wanted);
  for (size_t i = 0; i < a.size(); ++i)
    if (exact ? !(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) : !close(a[i], b[i], c, got.dtype))
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", wanted " + std::to_string(b[i]);
  return {};
}

}  // namespace optima::test
