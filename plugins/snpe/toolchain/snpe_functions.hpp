// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: the functions of libSNPE.so that are called here, by name. Declared from Qualcomm's public description of the C API
// (document 80-63442-2, "C API" pages: SNPE, SNPEBuilder, DlContainer, RuntimeList, StringList, IBufferAttributes, IUserBuffer, UserBufferMap,
// TensorShape, SNPEUtil); none of its headers is needed. Handles are void*, error codes are 0 when good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace snpe_plugin::snpe {

enum Runtime : int { kCpu = 0, kGpu = 1, kDsp = 2 };              // Snpe_Runtime_t
inline constexpr int kUnsignedPd = 2;                             // Snpe_RuntimeCheckOption_t: the DSP libraries of a SDK are not signed
enum ElementType : int { kFloat = 1, kFloat16 = 3, kTf8 = 10, kTf16 = 11, kInt32 = 12, kUint32 = 13, kInt8 = 14, kUint8 = 15, kInt16 = 16,
                         kUint16 = 17, kBool = 18, kInt64 = 19, kUint64 = 20 };  // Snpe_UserBufferEncoding_ElementType_t

#define SNPE_FUNCTIONS(F)                                                                 \
  F(void*, Snpe_Util_GetLibraryVersion, ())                                               \
  F(const char*, Snpe_DlVersion_ToString, (void* version))                                \
  F(int, Snpe_DlVersion_Delete, (void* version))                                          \
  F(int, Snpe_Util_IsRuntimeAvailable, (int runtime))                                     \
  F(int, Snpe_Util_IsRuntimeAvailableCheckOption, (int runtime, int option))              \
  F(const char*, Snpe_ErrorCode_GetLastErrorString, ())                                   \
  F(void*, Snpe_DlContainer_Open, (const char* path))                                     \
  F(int, Snpe_DlContainer_Delete, (void* container))                                      \
  F(void*, Snpe_RuntimeList_Create, ())                                                   \
  F(int, Snpe_RuntimeList_Add, (void* list, int runtime))                                 \
  F(int, Snpe_RuntimeList_Delete, (void* list))                                           \
  F(void*, Snpe_StringList_Create, ())                                                    \
  F(int, Snpe_StringList_Append, (void* list, const char* text))                          \
  F(size_t, Snpe_StringList_Size, (void* list))                                           \
  F(const char*, Snpe_StringList_At, (void* list, size_t k))                              \
  F(int, Snpe_StringList_Delete, (void* list))                                            \
  F(void*, Snpe_SNPEBuilder_Create, (void* container))                                    \
  F(int, Snpe_SNPEBuilder_SetRuntimeProcessorOrder, (void* builder, void* runtimes))      \
  F(int, Snpe_SNPEBuilder_SetUseUserSuppliedBuffers, (void* builder, int on))             \
  F(int, Snpe_SNPEBuilder_SetPerformanceProfile, (void* builder, int profile))            \
  F(int, Snpe_SNPEBuilder_SetOutputTensors, (void* builder, void* names))                 \
  F(void*, Snpe_SNPEBuilder_Build, (void* builder))                                       \
  F(int, Snpe_SNPEBuilder_Delete, (void* builder))                                        \
  F(void*, Snpe_SNPE_GetInputTensorNames, (void* snpe))                                   \
  F(void*, Snpe_SNPE_GetOutputTensorNames, (void* snpe))                                  \
  F(void*, Snpe_SNPE_GetInputOutputBufferAttributes, (void* snpe, const char* name))      \
  F(int, Snpe_SNPE_ExecuteUserBuffers, (void* snpe, void* inputs, void* outputs))         \
  F(int, Snpe_SNPE_Delete, (void* snpe))                                                  \
  F(void*, Snpe_IBufferAttributes_GetDims, (void* attributes))                            \
  F(int, Snpe_IBufferAttributes_GetEncodingType, (void* attributes))                      \
  F(void*, Snpe_IBufferAttributes_GetEncoding_Ref, (void* attributes))                    \
  F(int, Snpe_IBufferAttributes_Delete, (void* attributes))                               \
  F(void*, Snpe_TensorShape_CreateDimsSize, (const size_t* dims, size_t rank))            \
  F(size_t, Snpe_TensorShape_Rank, (void* shape))                                         \
  F(const size_t*, Snpe_TensorShape_GetDimensions, (void* shape))                         \
  F(int, Snpe_TensorShape_Delete, (void* shape))                                          \
  F(void*, Snpe_UserBufferEncodingFloat_Create, ())                                       \
  F(void*, Snpe_UserBufferEncodingFloatN_Create, (uint8_t bits))                          \
  F(void*, Snpe_UserBufferEncodingIntN_Create, (uint8_t bits))                            \
  F(void*, Snpe_UserBufferEncodingUintN_Create, (uint8_t bits))                           \
  F(void*, Snpe_UserBufferEncodingBool_Create, (uint8_t bits))                            \
  F(void*, Snpe_UserBufferEncodingTfN_Create, (uint64_t step_of_0, float step, uint8_t bits)) \
  F(uint64_t, Snpe_UserBufferEncodingTfN_GetStepExactly0, (void* encoding))               \
  F(float, Snpe_UserBufferEncodingTfN_GetQuantizedStepSize, (void* encoding))             \
  F(int, Snpe_UserBufferEncoding_Delete, (void* encoding))                                \
  F(void*, Snpe_Util_CreateUserBuffer, (void* data, size_t size, void* byte_strides, void* encoding)) \
  F(int, Snpe_IUserBuffer_SetBufferAddress, (void* buffer, void* data)) /* not 0 = good */ \
  F(int, Snpe_IUserBuffer_Delete, (void* buffer))                                         \
  F(void*, Snpe_UserBufferMap_Create, ())                                                 \
  F(int, Snpe_UserBufferMap_Add, (void* map, const char* name, void* buffer))             \
  F(int, Snpe_UserBufferMap_Delete, (void* map))

/// The library's functions. Valid for ever: what was opened is never unloaded, its threads may still run.
struct Functions {
#define SNPE_MEMBER(result, name, arguments) result(*name) arguments = nullptr;
  SNPE_FUNCTIONS(SNPE_MEMBER)
#undef SNPE_MEMBER
};

/// Opens the library at its first use in the process. Throws DEPENDENCY: it cannot be opened, or lacks a function. Any thread.
const Functions& functions_of(const std::string& library);

}  // namespace snpe_plugin::snpe
