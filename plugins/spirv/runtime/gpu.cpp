// SPDX-License-Identifier: Apache-2.0
#include "gpu.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spirv_plugin {
namespace {

const char* text_of(VkResult r) {
  switch (r) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
    case VK_ERROR_DEVICE_LOST: return "the device is lost";
    case VK_ERROR_INITIALIZATION_FAILED: return "initialization failed";
    case VK_ERROR_LAYER_NOT_PRESENT: return "a layer is not there";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "an extension is not there";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "a feature is not there";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "no driver is there";
    case VK_ERROR_TOO_MANY_OBJECTS: return "too many objects";
    case VK_ERROR_FRAGMENTED_POOL: return "a pool is fragmented";
    default: return "it failed";
  }
}

const char* kind_of(uint32_t vendor) {
  switch (vendor) {
    case 0x10de: return "NVIDIA";
    case 0x1002: return "AMDGPU";
    case 0x8086: return "INTELGPU";
    case 0x13b5: return "MALI";
    case 0x5143: return "ADRENO";
    default: return "VULKAN";
  }
}

std::string hex(const uint8_t* bytes, size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (size_t k = 0; k < count; ++k) {
    if (k == 4 || k == 6 || k == 8 || k == 10) out += '-';
    out += kDigits[bytes[k] >> 4], out += kDigits[bytes[k] & 15];
  }
  return out;
}

/// Features that kernels may ask for, as Vulkan has them in chained structs.
struct Features {
  VkPhysicalDevice16BitStorageFeatures storage16{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, nullptr, 0, 0, 0, 0};
  VkPhysicalDevice8BitStorageFeatures storage8{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, nullptr, 0, 0, 0};
  VkPhysicalDeviceShaderFloat16Int8Features small{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, nullptr, 0, 0};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES, nullptr, 0};
  VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};

  struct Entry {
    const char* name;
    VkBool32* flag;
    void* holder;                ///< the struct it is in; null: in `all`
    uint32_t core;               ///< version that has it without an extension
    const char* extension;
  };
  std::vector<Entry> entries() {
    return {{"storageBuffer16BitAccess", &storage16.storageBuffer16BitAccess, &storage16, VK_API_VERSION_1_1, nullptr},
            {"storageBuffer8BitAccess", &storage8.storageBuffer8BitAccess, &storage8, VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME},
            {"shaderFloat16", &small.shaderFloat16, &small, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME},
            {"shaderInt8", &small.shaderInt8, &small, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME},
            {"shaderIntegerDotProduct", &dot.shaderIntegerDotProduct, &dot, VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME},
            {"shaderInt16", &all.features.shaderInt16, nullptr, VK_API_VERSION_1_0, nullptr},
            {"shaderInt64", &all.features.shaderInt64, nullptr, VK_API_VERSION_1_0, nullptr},
            {"shaderFloat64", &all.features.shaderFloat64, nullptr, VK_API_VERSION_1_0, nullptr}};
  }
};

void chain(VkPhysicalDeviceFeatures2& all, void* holder) {
  auto* base = static_cast<VkBaseOutStructure*>(holder);
  for (const auto* at = static_cast<const VkBaseOutStructure*>(all.pNext); at; at = at->pNext)
    if (at == base) return;
  base->pNext = static_cast<VkBaseOutStructure*>(all.pNext);
  all.pNext = base;
}

std::set<std::string> extensions_of(VkPhysicalDevice gpu) {
  uint32_t count = 0;
  require(vkEnumerateDeviceExtensionProperties(gpu, nullptr, &count, nullptr), "listing a GPU's extensions");
  std::vector<VkExtensionProperties> all(count);
  require(vkEnumerateDeviceExtensionProperties(gpu, nullptr, &count, all.data()), "listing a GPU's extensions");
  std::set<std::string> out;
  for (const VkExtensionProperties& e : all) out.insert(e.extensionName);
  return out;
}

bool may_ask(const Features::Entry& e, uint32_t api, const std::set<std::string>& extensions) { return api >= e.core || (e.extension && extensions.count(e.extension)); }

std::set<std::string> features_of(VkPhysicalDevice gpu, uint32_t api) {
  const std::set<std::string> extensions = extensions_of(gpu);
  Features f;
  for (const Features::Entry& e : f.entries())
    if (e.holder && may_ask(e, api, extensions)) chain(f.all, e.holder);
  vkGetPhysicalDeviceFeatures2(gpu, &f.all);
  std::set<std::string> out;
  for (const Features::Entry& e : f.entries())
    if (*e.flag && may_ask(e, api, extensions)) out.insert(e.name);
  return out;
}

constexpr std::pair<VkSubgroupFeatureFlagBits, const char*> kSubgroups[] = {
    {VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, "subgroupArithmetic"}, {VK_SUBGROUP_FEATURE_BALLOT_BIT, "subgroupBallot"}, {VK_SUBGROUP_FEATURE_SHUFFLE_BIT, "subgroupShuffle"}};

GpuInfo info_of(VkPhysicalDevice gpu) {
  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, nullptr, 0, 0, 0, 0};
  VkPhysicalDeviceIDProperties id{};
  id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, id.pNext = &subgroup;
  VkPhysicalDeviceMaintenance3Properties allocation{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, nullptr, 0, 0};
  subgroup.pNext = &allocation;
  VkPhysicalDeviceMaintenance4Properties buffer{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES, nullptr, UINT64_MAX};
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  const std::set<std::string> extensions = extensions_of(gpu);
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &id, {}};
  vkGetPhysicalDeviceProperties2(gpu, &all);
  if (all.properties.apiVersion >= VK_API_VERSION_1_3 || extensions.count(VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) allocation.pNext = &buffer;
  if (all.properties.apiVersion >= VK_API_VERSION_1_2 || extensions.count(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) driver.pNext = std::exchange(allocation.pNext, &driver);
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT imports{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT, nullptr, 0};
  if (extensions.count(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) imports.pNext = std::exchange(allocation.pNext, &imports);
  vkGetPhysicalDeviceProperties2(gpu, &all);
  const VkPhysicalDeviceProperties& p = all.properties;
  GpuInfo out;
  out.import_alignment = imports.minImportedHostPointerAlignment;
  out.handle = gpu, out.name = p.deviceName, out.uuid = hex(id.deviceUUID, VK_UUID_SIZE), out.kind = kind_of(p.vendorID);
  out.driver = "Vulkan " + std::to_string(VK_API_VERSION_MAJOR(p.apiVersion)) + "." + std::to_string(VK_API_VERSION_MINOR(p.apiVersion)) + ", driver " + std::to_string(p.driverVersion) + ", UUID " + out.uuid;
  out.is_software = p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  out.is_unified = out.is_software || p.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  out.vendor = p.vendorID, out.device = p.deviceID, out.driver_id = driver.driverID, out.driver_version = p.driverVersion;
  std::copy_n(p.pipelineCacheUUID, VK_UUID_SIZE, out.cache_uuid.begin());
  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(gpu, &memory);
  for (uint32_t k = 0; k < memory.memoryHeapCount; ++k)
    if (memory.memoryHeaps[k].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) out.memory += memory.memoryHeaps[k].size;
  const VkPhysicalDeviceLimits& l = p.limits;
  out.limits.vulkan = p.apiVersion;
  out.limits.invocations = l.maxComputeWorkGroupInvocations;
  std::copy_n(l.maxComputeWorkGroupSize, 3, out.limits.size.begin());
  std::copy_n(l.maxComputeWorkGroupCount, 3, out.limits.groups.begin());
  out.limits.shared_bytes = l.maxComputeSharedMemorySize;
  out.limits.storage_buffers = std::min(l.maxPerStageDescriptorStorageBuffers, l.maxDescriptorSetStorageBuffers);
  out.limits.buffer_range = l.maxStorageBufferRange;
  out.limits.buffer_bytes = std::min<uint64_t>(allocation.maxMemoryAllocationSize, buffer.maxBufferSize);
  out.limits.features = features_of(gpu, p.apiVersion);
  if (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)  // these are there without being asked for
    for (const auto& [operation, name] : kSubgroups)
      if (subgroup.supportedOperations & operation) out.limits.features.insert(name);
  return out;
}

std::optional<uint32_t> compute_family(VkPhysicalDevice gpu, VkQueueFamilyProperties& family) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(gpu, &count, nullptr);
  std::vector<VkQueueFamilyProperties> all(count);
  vkGetPhysicalDeviceQueueFamilyProperties(gpu, &count, all.data());
  for (const bool graphics : {false, true})  // one that only computes does not wait for a desktop
    for (uint32_t k = 0; k < count; ++k)
      if (all[k].queueFlags & VK_QUEUE_COMPUTE_BIT && bool(all[k].queueFlags & VK_QUEUE_GRAPHICS_BIT) == graphics) {
        family = all[k];
        return k;
      }
  return std::nullopt;
}

constexpr VkBufferUsageFlags kBufferUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
/// Of memory that the processor and the GPU see, each what the other wrote.
constexpr VkMemoryPropertyFlags kSeen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

}  // namespace

void require(VkResult result, const std::string& what) {
  if (result == VK_SUCCESS) return;
  const bool memory = result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
  sdk::Error e(memory ? OPTIMA_MEMORY : OPTIMA_DEVICE, what + ": " + text_of(result) + " (Vulkan result " + std::to_string(result) + ")");
  e.vendor_code = result;
  if (result == VK_ERROR_DEVICE_LOST) e.flags = OPTIMA_STATUS_DEVICE_LOST | OPTIMA_STATUS_RETRYABLE;
  throw e;
}

std::shared_ptr<Vulkan> Vulkan::open() {
  static const VkResult loaded = volkInitialize();
  if (loaded != VK_SUCCESS) throw sdk::Error(OPTIMA_DEPENDENCY, "Vulkan's loader, libvulkan.so.1, is not here: install the GPU's Vulkan driver (Debian: mesa-vulkan-drivers)");
  std::shared_ptr<Vulkan> out(new Vulkan);
  const VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr, "optima", 1, "optima", 1, std::min<uint32_t>(volkGetInstanceVersion(), VK_API_VERSION_1_3)};
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, info.pApplicationInfo = &app;
  const VkResult made = vkCreateInstance(&info, nullptr, &out->instance_);
  if (made == VK_ERROR_INCOMPATIBLE_DRIVER) throw sdk::Error(OPTIMA_DEPENDENCY, "Vulkan has no driver here: install the GPU's own (Debian: mesa-vulkan-drivers)");
  if (made == VK_ERROR_OUT_OF_HOST_MEMORY)  // the loader's word for a manifest of a driver that is no JSON, too
    throw sdk::Error(OPTIMA_DEPENDENCY, "Vulkan's loader makes no instance, and says it is out of host memory: where there is some left, a driver's manifest (VK_ICD_FILENAMES, /usr/share/vulkan/icd.d) is damaged; VK_LOADER_DEBUG=error names it");
  require(made, "making a Vulkan instance");
  volkLoadInstanceOnly(out->instance_);
  uint32_t count = 0;
  require(vkEnumeratePhysicalDevices(out->instance_, &count, nullptr), "listing GPUs");
  std::vector<VkPhysicalDevice> all(count);
  require(vkEnumeratePhysicalDevices(out->instance_, &count, all.data()), "listing GPUs");
  for (const VkPhysicalDevice gpu : all) {
    VkPhysicalDeviceProperties p{};
    vkGetPhysicalDeviceProperties(gpu, &p);
    if (p.apiVersion >= VK_API_VERSION_1_1) out->gpus_.push_back(info_of(gpu));
  }
  std::stable_sort(out->gpus_.begin(), out->gpus_.end(), [](const GpuInfo& a, const GpuInfo& b) { return a.is_software < b.is_software; });
  return out;
}

std::shared_ptr<Gpu> Vulkan::gpu(const GpuInfo& info, const std::set<std::string>& features) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Gpu>& known = open_[{info.handle, features}];
  if (!known || known->is_lost()) known = std::make_shared<Gpu>(info, features);
  return known;
}

Vulkan::~Vulkan() {
  open_.clear();
  if (instance_) vkDestroyInstance(instance_, nullptr);
}

Gpu::Gpu(const GpuInfo& info, const std::set<std::string>& features) : info_(info) {
  VkQueueFamilyProperties properties{};
  const std::optional<uint32_t> family = compute_family(info.handle, properties);
  if (!family) throw sdk::Error(OPTIMA_DEVICE, "GPU '" + info.name + "' computes nothing, wanted a queue for compute");
  family_ = *family, has_clock_ = properties.timestampValidBits > 0;
  const uint32_t queues = std::min(properties.queueCount, 4u);
  const std::vector<float> priorities(queues, 0.5f);
  const VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, family_, queues, priorities.data()};
  Features f;
  std::vector<const char*> extensions;
  for (const Features::Entry& e : f.entries()) {
    if (!features.count(e.name)) continue;
    *e.flag = VK_TRUE;
    if (e.holder) chain(f.all, e.holder);
    if (e.extension && info.limits.vulkan < e.core) extensions.push_back(e.extension);
  }
  if (info.import_alignment > 0) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  VkDeviceCreateInfo make{};
  make.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, make.pNext = &f.all, make.queueCreateInfoCount = 1, make.pQueueCreateInfos = &queue;
  make.enabledExtensionCount = static_cast<uint32_t>(extensions.size()), make.ppEnabledExtensionNames = extensions.data();
  require(vkCreateDevice(info.handle, &make, nullptr, &device_), "opening GPU '" + info.name + "'");
  volkLoadDeviceTable(&f_, device_);
  for (uint32_t k = 0; k < queues; ++k) {
    queues_.push_back(std::make_unique<Queue>());
    f_.vkGetDeviceQueue(device_, family_, k, &queues_.back()->handle);
  }
  vkGetPhysicalDeviceMemoryProperties(info.handle, &memory_);
}

Gpu::~Gpu() {
  if (device_) f_.vkDestroyDevice(device_, nullptr);
}

void Gpu::require(VkResult result, const std::string& what) const {
  if (result == VK_ERROR_DEVICE_LOST) is_lost_ = true;
  spirv_plugin::require(result, what);
}

std::optional<uint32_t> Gpu::memory_type(uint32_t bits, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags better) const {
  for (const VkMemoryPropertyFlags flags : {wanted | better, wanted})
    for (uint32_t k = 0; k < memory_.memoryTypeCount; ++k)
      if (bits >> k & 1 && (memory_.memoryTypes[k].propertyFlags & flags) == flags) return k;
  return std::nullopt;
}

Buffer::Buffer(std::shared_ptr<Gpu> gpu, Where where, uint64_t bytes, const std::string& what) : Buffer() {  // from here on what is made is freed
  gpu_ = std::move(gpu), size_ = std::max<uint64_t>(bytes, 4);
  const std::string asked = std::to_string(size_) + " bytes of " + what + " on GPU '" + gpu_->info().name + "', which has " + std::to_string(gpu_->info().memory);
  const VkMemoryRequirements needs = make(nullptr, asked);
  const bool seen = where != Where::Device || gpu_->info().is_unified;
  const VkMemoryPropertyFlags better = where == Where::Device ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT : where == Where::Download ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : 0;
  const std::optional<uint32_t> type = gpu_->memory_type(needs.memoryTypeBits, seen ? kSeen : 0, better);
  if (!type) throw sdk::Error(OPTIMA_DEVICE, "GPU '" + gpu_->info().name + "' has no memory of a kind that " + what + " can lie in");
  take({VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size, *type}, asked);
  void* data = nullptr;
  if (seen) gpu_->require(gpu_->f().vkMapMemory(gpu_->device(), memory_, 0, VK_WHOLE_SIZE, 0, &data), asked);
  data_ = static_cast<char*>(data);
}

Buffer::Buffer(std::shared_ptr<Gpu> gpu, void* memory, uint64_t bytes) : Buffer() {
  gpu_ = std::move(gpu), size_ = bytes;
  constexpr VkExternalMemoryHandleTypeFlagBits kProcessors = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  const std::string asked = std::to_string(bytes) + " bytes of the processor's memory for GPU '" + gpu_->info().name + "'";
  const VkPhysicalDeviceExternalBufferInfo wanted{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, nullptr, 0, kBufferUsage, kProcessors};
  VkExternalBufferProperties can{VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES, nullptr, {}};
  vkGetPhysicalDeviceExternalBufferProperties(gpu_->info().handle, &wanted, &can);
  if (!(can.externalMemoryProperties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT)) throw sdk::Error(OPTIMA_UNSUPPORTED, asked + ": it makes no buffers over any");
  VkMemoryHostPointerPropertiesEXT takes{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT, nullptr, 0};
  gpu_->require(gpu_->f().vkGetMemoryHostPointerPropertiesEXT(gpu_->device(), kProcessors, memory, &takes), asked);
  const VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, nullptr, kProcessors};
  const VkMemoryRequirements needs = make(&external, asked);
  const std::optional<uint32_t> type = gpu_->memory_type(needs.memoryTypeBits & takes.memoryTypeBits, kSeen, 0);
  if (!type || needs.size > bytes) throw sdk::Error(OPTIMA_UNSUPPORTED, asked + ": it takes none of this kind");
  const VkImportMemoryHostPointerInfoEXT import{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, nullptr, kProcessors, memory};
  take({VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &import, bytes, *type}, asked);
  data_ = static_cast<char*>(memory);
}

VkMemoryRequirements Buffer::make(const void* next, const std::string& asked) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, info.pNext = next, info.size = size_;
  info.usage = kBufferUsage;
  gpu_->require(gpu_->f().vkCreateBuffer(gpu_->device(), &info, nullptr, &buffer_), asked);
  VkMemoryRequirements needs{};
  gpu_->f().vkGetBufferMemoryRequirements(gpu_->device(), buffer_, &needs);
  return needs;
}

void Buffer::take(const VkMemoryAllocateInfo& memory, const std::string& asked) {
  gpu_->require(gpu_->f().vkAllocateMemory(gpu_->device(), &memory, nullptr, &memory_), asked);
  gpu_->require(gpu_->f().vkBindBufferMemory(gpu_->device(), buffer_, memory_, 0), asked);
}

Buffer::~Buffer() {
  if (!gpu_) return;
  if (buffer_) gpu_->f().vkDestroyBuffer(gpu_->device(), buffer_, nullptr);
  if (memory_) gpu_->f().vkFreeMemory(gpu_->device(), memory_, nullptr);
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(gpu_, other.gpu_), std::swap(buffer_, other.buffer_), std::swap(memory_, other.memory_), std::swap(size_, other.size_), std::swap(data_, other.data_);
}

std::vector<sdk::PresentDevice> present(const std::function<std::shared_ptr<Vulkan>()>& open, bool software, std::string& why_none) {
  std::vector<sdk::PresentDevice> out;
  try {
    const std::shared_ptr<Vulkan> vulkan = open();
    std::map<std::string, uint32_t> count;
    for (const GpuInfo& gpu : vulkan->gpus()) {
      if (gpu.is_software && !software) continue;
      sdk::PresentDevice d;
      d.device_class = OPTIMA_CLASS_GPU, d.kind = gpu.kind, d.ordinal = count[gpu.kind]++, d.id = gpu.uuid, d.arch = gpu.name, d.driver = gpu.driver;
      d.attributes = {{"memory", std::to_string(gpu.memory)}};
      out.push_back(std::move(d));
    }
    if (out.empty()) why_none = software ? "Vulkan finds no GPU of version 1.1 or later" : "Vulkan finds no GPU here but drivers on the processor, which are used when named";
  } catch (const sdk::Error& e) {
    why_none = e.text;
  }
  return out;
}

}  // namespace spirv_plugin
