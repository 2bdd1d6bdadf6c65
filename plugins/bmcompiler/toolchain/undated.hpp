// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/toolchain: the time of compilation is taken out of a file that the tools wrote, so that one model gives one file.
#pragma once

#include <string>
#include <string_view>

namespace bmcompiler_plugin {

/// Sets the time in a .bmodel or .cvimodel to 1980-01-01 00:00:00, and the MD5 sum that a .cvimodel has of itself. Both formats' roots have
/// the time as their field 2 (bmodel.fbs: Model.time; cvimodel.fbs: Model.build_time). A kernel module's mode that is neither 0 nor 1 becomes
/// 0: for chips without such a module (bm1684) the tools leave there what the memory held (KernelModule.mode). Throws IO,
/// and TOOL_FAILED for a file that is neither.
void undate(const std::string& path);

/// MD5 of `bytes` (RFC 1321), 16 bytes.
std::string md5(std::string_view bytes);

}  // namespace bmcompiler_plugin
