// SPDX-License-Identifier: Apache-2.0
// A picture on its way into a classifier: read, resized so that a centre crop of the input's size fits, cropped.
#pragma once

#include <string>
#include <vector>

struct Picture {
  int width = 0, height = 0, channels = 0;
  std::vector<unsigned char> pixels;  // rows of channels, RGB or grey
};

// JPG, PNG, TGA, BMP, PSD, GIF (first frame), HDR or PIC. channels: 1 or 3, converted to. Throws std::runtime_error.
Picture read_picture(const std::string& path, int channels);

// As torchvision prepares pictures for 224 x 224: sides so that the input is 224/256 of the shorter one, by a triangle filter that averages when it
// shrinks. Throws std::runtime_error when a side would be past 32768.
Picture resize_for(const Picture& from, int input_width, int input_height);

// The middle; the picture is at least as large.
Picture crop_middle(const Picture& from, int width, int height);
