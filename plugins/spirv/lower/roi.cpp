// SPDX-License-Identifier: Apache-2.0
// RoiAlign and MaxRoiPool: a small picture per region of interest; an invocation makes one element. A region's picture number is kept inside of the batch.
#include <algorithm>
#include <cmath>

#include "elements.hpp"

namespace spirv_plugin {
namespace of_roi {

/// Statements that name of element `o` of [region][channel][row][column]: `region`, `row`, `column`.
void write_position(Shader& s, const Dims& y) {
  s.line("int region=o/" + text(y[1] * y[2] * y[3]) + ",row=o/" + text(y[3]) + "%" + text(y[2]) + ",column=o%" + text(y[3]) + ";");
}
/// And `plane`, where its channel of picture `image` begins.
void write_plane(Shader& s, const Dims& x, const Dims& y, const std::string& image) {
  s.line("int plane=(clamp(" + image + ",0," + text(x[0] - 1) + ")*" + text(x[1]) + "+o/" + text(y[2] * y[3]) + "%" + text(x[1]) + ")*" + text(x[2] * x[3]) + ";");
}

/// between(): a point's place between two elements of an axis of n, and its distance from the first; false further outside than one element.
constexpr const char* kBetween =
    "bool between(float at,int n,out int low,out int high,out float share){low=high=0;share=0.0;if(!(at>=-1.0&&at<=float(n)))return false;"
    "at=clamp(at,0.0,float(n-1));low=int(at);high=min(low+1,n-1);share=at-float(low);return true;}";

/// Elements or samples of a cell that an invocation goes through. Regions are data, and nothing else bounds them: what a larger cell comes to is no number.
constexpr int64_t kMostOfCell = 50000;

/// Samples along one axis of a cell: as asked for, or as many as it has elements; none where that is no number.
std::string samples(int64_t asked, const std::string& size) { return asked > 0 ? text(asked) : "clamp(int_(ceil(" + size + ")),0,40000)"; }

/// The head of the loop over all of `rows` times `columns`, by row `i` and column `j`, and their number as `cells`.
std::string each_of(const std::string& rows, const std::string& columns) {
  return "int across=" + columns + ",cells=" + rows + "*across;for(int at=0;at<min(cells," + text(kMostOfCell) + ");++at){int i=at/across,j=at%across;";
}
/// The value in the end.
std::string checked(const std::string& value) { return "(cells>" + text(kMostOfCell) + "?uintBitsToFloat(0x7fc00000u):" + value + ")"; }

void lower_roi_align(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims x_dims = node.input(0).shape(), y_dims = node.output(0).shape();
  const bool half = node.string("coordinate_transformation_mode", node.since_version() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel", largest = node.string("mode", "avg") == "max";
  const int64_t asked = node.integer("sampling_ratio", 0);
  const std::string scale = literal(node.real("spatial_scale", 1)), shift = half ? "0.5" : "0.0", h = text(x_dims[2]), w = text(x_dims[3]);
  Elements e{to, group};
  const int x = e.in(node.input(0)), rois = e.in(node.input(1)), images = e.in(node.input(2));
  e.s.top(kBetween);
  e.finish(
      [&] {
        write_position(e.s, y_dims);
        write_plane(e.s, x_dims, y_dims, e.s.load(images, "region"));
        for (int k = 0; k < 4; ++k) e.s.line("float r" + std::to_string(k) + "=" + e.s.load(rois, "region*4+" + std::to_string(k)) + "*" + scale + "-" + shift + ";");
        const auto size = [&](const char* of) { return half ? "(" + std::string(of) + ")" : "max(" + std::string(of) + ",1.0)"; };
        e.s.line("float width=" + size("r2-r0") + "/" + literal(static_cast<double>(y_dims[3])) + ",height=" + size("r3-r1") + "/" + literal(static_cast<double>(y_dims[2])) + ";");
        e.s.line("int rows=" + samples(asked, "height") + ",columns=" + samples(asked, "width") + ";float t=" + (largest ? literal(-HUGE_VAL) : "0.0") + ";");
        e.s.line(each_of("rows", "columns") + "int y0,y1,x0,x1;float fx,fy;bool down=between(r1+float(row)*height+(float(i)+0.5)*height/float(rows)," + h + ",y0,y1,fy);");
        e.s.line("if(!(between(r0+float(column)*width+(float(j)+0.5)*width/float(columns)," + w + ",x0,x1,fx)&&down)){" + (largest ? "t=max(t,0.0);" : "") + "continue;}");
        const auto corner = [&](const char* y, const char* z, const std::string& share) {
          const std::string value = "(" + share + "==0.0?0.0:" + share + "*" + e.s.load(x, std::string("plane+") + y + "*" + w + "+" + z) + ")";
          e.s.line(largest ? "t=max_(t," + value + ");" : "t+=" + value + ";");
        };
        corner("y0", "x0", "((1.0-fy)*(1.0-fx))"), corner("y0", "x1", "((1.0-fy)*fx)"), corner("y1", "x0", "(fy*(1.0-fx))"), corner("y1", "x1", "(fy*fx)");
        e.s.line("}");
        return checked(largest ? "(cells==0?0.0:t)" : "(cells==0?0.0:t/float(cells))");
      },
      static_cast<uint64_t>(40 * (asked > 0 ? asked * asked : 4)));
}

void lower_max_roi_pool(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims x_dims = node.input(0).shape(), y_dims = node.output(0).shape();
  const std::string scale = literal(node.real("spatial_scale", 1));
  Elements e{to, group};
  const int x = e.in(node.input(0)), rois = e.in(node.input(1));
  e.s.top("float away(float x){return x<0.0?-floor(0.5-x):floor(x+0.5);}");  // halves are rounded away from zero
  e.finish(
      [&] {
        write_position(e.s, y_dims);
        write_plane(e.s, x_dims, y_dims, "int_(" + e.s.load(rois, "region*5") + ")");
        for (int k = 1; k < 5; ++k) e.s.line("float r" + std::to_string(k) + "=away(" + e.s.load(rois, "region*5+" + std::to_string(k)) + "*" + scale + ");");
        const auto range = [&](const std::string& name, const char* begin, const char* end, const char* cell, int64_t cells, int64_t size) {
          const std::string step = "max(" + std::string(end) + "-" + begin + "+1.0,1.0)/" + literal(static_cast<double>(cells)), most = text(size);
          e.s.line("float s" + name + "=" + step + ";int " + name + "0=clamp(int_(" + begin + "+floor(float(" + cell + ")*s" + name + ")),0," + most + ")," + name + "1=clamp(int_(" + begin + "+ceil(float(" + cell +
                   "+1)*s" + name + ")),0," + most + ");");
        };
        range("y", "r2", "r4", "row", y_dims[2], x_dims[2]), range("x", "r1", "r3", "column", y_dims[3], x_dims[3]);
        e.s.line("float t=y1<=y0||x1<=x0?0.0:" + literal(-HUGE_VAL) + ";" + each_of("max(0,y1-y0)", "max(0,x1-x0)") + "t=max_(t," + e.s.load(x, "plane+(y0+i)*" + text(x_dims[3]) + "+x0+j") + ");}");
        return checked("t");
      },
      32);
}

std::string no_roi(const sdk::Node& node) {
  const sdk::Value x = node.input(0), rois = node.input(1);
  const bool align = node.op() == "RoiAlign";
  const int64_t columns = align ? 4 : 5;
  if (x.rank() != 4) return "input 0 of rank " + text(x.rank()) + ", wanted 4";
  if (rois.rank() != 2 || rois.dim(1) != columns) return "regions are no rows of " + text(columns) + " numbers";
  if (x.elements() == 0 && node.output(0).elements() != 0) return "input 0 is empty";
  const sdk::Value y = node.output(0);
  if (y.rank() != 4 || y.dim(0) != rois.dim(0) || y.dim(1) != x.dim(1)) return "output of other dims than the input and the regions want";
  const int64_t asked = align ? node.integer("sampling_ratio", 0) : 0;
  const auto cell = [&](uint32_t axis) { return y.dim(axis) > 0 ? (x.dim(axis) + y.dim(axis) - 1) / y.dim(axis) : 0; };
  if (asked == 0 && cell(2) * cell(3) > kMostOfCell) return "cells of " + text(cell(2) * cell(3)) + " elements where a region is the picture, wanted at most " + text(kMostOfCell);
  if (!align) return "";
  constexpr int64_t kMostSamples = int64_t{1} << 33;  // more take seconds
  if (asked < 0 || asked > 1024 || asked * asked > kMostOfCell) return "sampling_ratio is " + text(asked) + ", wanted 0 to 223";
  if (y.elements() > kMostSamples / std::max<int64_t>(1, asked * asked)) return text(y.elements()) + " elements of " + text(asked * asked) + " samples each, wanted a product of at most 2^33";
  if (node.input(2).shape() != Dims{rois.dim(0)}) return "batch_indices are not one for each region";
  const std::string_view mode = node.string("mode", "avg"), how = node.string("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max") return "mode is " + std::string(mode) + ", wanted avg or max";
  return how != "half_pixel" && how != "output_half_pixel" ? "coordinate_transformation_mode is " + std::string(how) + ", wanted half_pixel or output_half_pixel" : "";
}

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&)) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = no_roi, r.takes_tail = true;
  return r;
}
constexpr sdk::Types F = kFloats;
constexpr Row kRows[] = {row(op("RoiAlign", 10, 22, {F, F, sdk::types(OPTIMA_I64)}, {F}), lower_roi_align), row(op("MaxRoiPool", 1, 22, {F, F}, {F}), lower_max_roi_pool)};

}  // namespace of_roi

Family roi_family() { return of_roi::kRows; }

}  // namespace spirv_plugin
