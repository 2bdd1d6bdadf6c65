// SPDX-License-Identifier: Apache-2.0
// reference/ops: RoiAlign and MaxRoiPool: one small picture per region of interest. The rules of edges and of the mode "max", which the operator's text
// leaves open, are those of ONNX's own node tests.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

struct Planes {
  Planes(const Tensor& x) : batch(x.dims[0]), channels(x.dims[1]), height(x.dims[2]), width(x.dims[3]), values(load<double>(x)) {}
  const double* plane(int64_t n, int64_t c) const { return values.data() + (n * channels + c) * height * width; }
  int64_t batch, channels, height, width;
  std::vector<double> values;
};

int64_t batch_of(double index, const Planes& x) {
  if (!(index >= 0 && index < static_cast<double>(x.batch))) {
    const std::string said = std::fabs(index) < 0x1p62 ? std::to_string(static_cast<int64_t>(std::floor(index))) : std::to_string(index);
    invalid("an index is " + said + ", must be within " + std::to_string(x.batch));
  }
  return static_cast<int64_t>(index);
}

/// One of the four elements round a point, and its share.
struct Corner {
  int64_t at;
  double weight;
};

/// The share of low and high on one axis; nothing more than one element outside.
bool between(double at, int64_t n, Corner& low, Corner& high) {
  if (!(at >= -1 && at <= static_cast<double>(n)) || n == 0) return false;
  at = std::min(std::max(at, 0.0), static_cast<double>(n - 1));
  low.at = static_cast<int64_t>(at);
  high.at = std::min(low.at + 1, n - 1);
  high.weight = at - static_cast<double>(low.at);
  low.weight = 1 - high.weight;
  return true;
}

/// What a cell of the output is made of: every sampled point has four corners, or none.
std::vector<Corner> cell(const Planes& x, double top, double left, double height, double width, int64_t rows, int64_t columns) {
  std::vector<Corner> out;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      Corner y[2], z[2];
      const double down = top + (static_cast<double>(r) + 0.5) * height / static_cast<double>(rows), right = left + (static_cast<double>(c) + 0.5) * width / static_cast<double>(columns);
      const bool inside = between(down, x.height, y[0], y[1]) && between(right, x.width, z[0], z[1]);
      for (int k = 0; k < 4; ++k) out.push_back(inside ? Corner{y[k / 2].at * x.width + z[k % 2].at, y[k / 2].weight * z[k % 2].weight} : Corner{0, 0});
    }
  return out;
}

double mean(const std::vector<Corner>& corners, const double* plane) {
  double sum[4]{};  // of each corner: one sum would wait for itself
  for (size_t k = 0; k < corners.size(); k += 4)
    for (size_t q = 0; q < 4; ++q) sum[q] += corners[k + q].weight == 0 ? 0 : corners[k + q].weight * plane[corners[k + q].at];
  return corners.empty() ? 0 : (sum[0] + sum[1] + sum[2] + sum[3]) / (static_cast<double>(corners.size()) / 4);
}

double most(const std::vector<Corner>& corners, const double* plane) {
  double best = corners.empty() ? 0 : -std::numeric_limits<double>::infinity();
  for (const Corner& c : corners) best = std::max(best, c.weight == 0 ? 0 : c.weight * plane[c.at]);
  return best;
}

int64_t samples(int64_t asked, double size, int64_t cells) {
  constexpr double kMost = 1 << 12;  // of one axis: a region is not larger than a picture
  return asked > 0 ? asked : static_cast<int64_t>(std::min(kMost, std::max(0.0, std::ceil(size / static_cast<double>(cells)))));
}

}  // namespace

void roi_align(Call& c) {
  const Tensor &input = c.in(0), &rois = c.in(1), &index = c.in(2);
  const Dims shape = shapes::roi_align_dims(c);
  const Planes x(input);
  const int64_t rows = shape[2], columns = shape[3], asked = c.integer("sampling_ratio", 0);
  const std::string mode = c.text("mode", "avg"), how = c.text("coordinate_transformation_mode", c.version() < 16 ? "output_half_pixel" : "half_pixel");
  if (mode != "avg" && mode != "max") invalid("mode is '" + mode + "', must be avg or max");
  if (how != "half_pixel" && how != "output_half_pixel") invalid("coordinate_transformation_mode is '" + how + "', must be half_pixel or output_half_pixel");
  const bool half = how == "half_pixel";
  const double scale = c.real("spatial_scale", 1), shift = half ? 0.5 : 0, least = half ? -std::numeric_limits<double>::infinity() : 1;
  const std::vector<double> r = load<double>(rois), of = load<double>(index);
  std::vector<double> out(static_cast<size_t>(count(shape)));
  double* to = out.data();
  for (int64_t n = 0; n < rois.dims[0]; ++n) {
    const double *box = r.data() + 4 * n, left = box[0] * scale - shift, top = box[1] * scale - shift;
    const double width = std::max(box[2] * scale - shift - left, least), height = std::max(box[3] * scale - shift - top, least);
    const double down = height / static_cast<double>(rows), right = width / static_cast<double>(columns);
    const int64_t batch = batch_of(of[static_cast<size_t>(n)], x), plane = rows * columns;
    std::vector<std::vector<Corner>> cells;
    for (int64_t i = 0; i < plane; ++i)
      cells.push_back(cell(x, top + static_cast<double>(i / columns) * down, left + static_cast<double>(i % columns) * right, down, right,
                           samples(asked, height, rows), samples(asked, width, columns)));
    for (int64_t ch = 0; ch < x.channels; ++ch)  // one after the other: a plane is near while its cells are read
      for (int64_t i = 0; i < plane; ++i) {
        const std::vector<Corner>& corners = cells[static_cast<size_t>(i)];
        to[ch * plane + i] = mode == "avg" ? mean(corners, x.plane(batch, ch)) : most(corners, x.plane(batch, ch));
      }
    to += x.channels * plane;
  }
  c.out(0, store(input.dtype, shape, out));
}

void max_roi_pool(Call& c) {
  const Tensor &input = c.in(0), &rois = c.in(1);
  const Dims to = shapes::max_roi_pool_dims(c);
  const Planes x(input);
  const int64_t rows = to[2], columns = to[3];
  const auto scale = static_cast<float>(c.real("spatial_scale", 1));
  const std::vector<double> r = load<double>(rois);
  std::vector<double> out;
  // In floats, as ONNX Runtime has it: which elements a cell has hangs on where products are rounded.
  const auto range = [](int64_t i, float start, float size, int64_t cells, int64_t n, int64_t& from, int64_t& to) {
    const auto most = static_cast<float>(n), step = size / static_cast<float>(cells);
    from = static_cast<int64_t>(std::min(most, std::max(0.0f, start + std::floor(static_cast<float>(i) * step))));
    to = static_cast<int64_t>(std::min(most, std::max(0.0f, start + std::ceil(static_cast<float>(i + 1) * step))));
  };
  const auto edge = [&](double at) { return std::round(static_cast<float>(at) * scale); };
  for (int64_t n = 0; n < rois.dims[0]; ++n) {
    const double* roi = r.data() + 5 * n;
    const int64_t batch = batch_of(roi[0], x);
    const float left = edge(roi[1]), top = edge(roi[2]);
    const float width = std::max(edge(roi[3]) - left + 1, 1.0f), height = std::max(edge(roi[4]) - top + 1, 1.0f);
    for (int64_t ch = 0; ch < x.channels; ++ch)
      for (int64_t i = 0; i < rows * columns; ++i) {
        int64_t y0, y1, x0, x1;
        range(i / columns, top, height, rows, x.height, y0, y1);
        range(i % columns, left, width, columns, x.width, x0, x1);
        double best = y1 <= y0 || x1 <= x0 ? 0 : -std::numeric_limits<double>::infinity();
        for (int64_t y = y0; y < y1; ++y)
          for (int64_t z = x0; z < x1; ++z) best = std::max(best, x.plane(batch, ch)[y * x.width + z]);
        out.push_back(best);
      }
  }
  c.out(0, store(input.dtype, to, out));
}

}  // namespace optima::reference::ops
