// SPDX-License-Identifier: Apache-2.0
// optima/plugin/entry.hpp: from the author's class to the C tables and the one export. Included by plugin.hpp.
#pragma once

#include "optima/plugin/plugin.hpp"

namespace optima::sdk {
inline namespace v0_1 {
namespace detail {

/// C on the outside, P on the inside. One static function per slot.
template <class P>
struct Thunk {
  static P* self(optima_plugin* p) { return reinterpret_cast<P*>(p); }
  static Program* self(optima_program* p) { return reinterpret_cast<Program*>(p); }
  static Context* self(optima_context* c) { return reinterpret_cast<Context*>(c); }

  /// Hands ownership out; an author who returns nothing has a bug.
  template <class Raw, class T>
  static void give(Raw** out, std::unique_ptr<T> made, const char* what) {
    if (!made) throw Error(OPTIMA_INTERNAL, std::string("plugin made no ") + what);
    *out = reinterpret_cast<Raw*>(made.release());
  }

  // Root.
  static int32_t init(const optima_host* host, const optima_option* o, uint32_t n, optima_plugin** out, optima_status* s) {
    return guard(s, [&] { give(out, std::make_unique<P>(Init{Host(host), Options(o, n)}), "instance"); });
  }
  static void deinit(optima_plugin* p) { delete self(p); }
  static int32_t devices(optima_plugin* p, optima_add_device add, void* data, optima_status* s) {
    return guard(s, [&] {
      std::string why_none;
      const std::vector<PresentDevice> all = self(p)->devices(why_none);
      for (const PresentDevice& d : all) add_device(d, add, data);
      if (!why_none.empty()) s->set_text(s->host_data, str(why_none));
    });
  }
  static void add_device(const PresentDevice& d, optima_add_device add, void* data) {
    std::vector<optima_option> attributes;
    for (const auto& [name, value] : d.attributes)
      attributes.push_back({sizeof(optima_option), OPTIMA_OPTION_STR, str(name), 0, 0, str(value), nullptr, 0, 0});
    const optima_device raw{sizeof raw, d.device_class, d.ordinal, d.is_refused ? uint32_t{OPTIMA_DEVICE_REFUSED} : 0u, str(d.kind), str(d.id), str(d.arch), str(d.driver),
                            attributes.data(), static_cast<uint32_t>(attributes.size()), 0};
    ok(add(data, &raw));
  }

  // optima.compiler/1
  static int32_t check(optima_plugin* p, const optima_check_request* r, optima_report report, void* data, optima_status* s) {
    return guard(s, [&] { self(p)->check(CheckRequest(r), Reporter(report, data)); });
  }
  static int32_t compile(optima_plugin* p, const optima_compile_request* r, const optima_sink* k, const optima_progress* g, optima_status* s) {
    return guard(s, [&] { self(p)->compile(CompileRequest(r), Sink(k, s), Progress(g)); });
  }

  // optima.door/1
  static int32_t offer_doors(optima_plugin* p, const optima_door_request* r, optima_add_door add, void* data, optima_status* s) {
    return guard(s, [&] { self(p)->offer_doors(DoorRequest(r), DoorSink(add, data)); });
  }
  static int32_t takes_door(optima_plugin* p, const optima_door_request* r, const optima_door* d, int32_t* taken, optima_status* s) {
    return guard(s, [&] { *taken = self(p)->takes_door(DoorRequest(r), Door(*d)) ? 1 : 0; });
  }

  // optima.runtime/1
  static int32_t check_artifact(optima_plugin* p, const optima_artifact* a, const optima_device* d, optima_compat* c, optima_status* s) {
    return guard(s, [&] {
      const Compatibility answer = self(p)->check_artifact(Artifact(a), Device(d));
      c->verdict = answer.verdict;
      c->set_text(c->host_data, str(answer.text));
    });
  }
  static int32_t load(optima_plugin* p, const optima_artifact* a, const optima_device* d, const optima_option* o, uint32_t n, optima_program** out, optima_status* s) {
    return guard(s, [&] { give(out, self(p)->load(Artifact(a), Device(d), Options(o, n)), "program"); });
  }
  static int32_t bindings(optima_program* p, optima_add_binding add, void* data, optima_status* s) {
    return guard(s, [&] { self(p)->bindings(BindingSink(add, data)); });
  }
  static int32_t context_create(optima_program* p, optima_context** out, optima_status* s) {
    return guard(s, [&] { give(out, self(p)->context(), "context"); });
  }
  static int32_t context_open(optima_program* p, const optima_context_request* r, optima_context** out, optima_status* s) {
    return guard(s, [&] {
      const optima_context_request q = known(r);
      give(out, self(p)->context_with(Options(q.options, q.option_count)), "context");
    });
  }
  static void context_destroy(optima_context* c) { delete self(c); }
  static void program_destroy(optima_program* p) { delete self(p); }
  static int32_t execute(optima_context* c, const optima_tensor* in, uint32_t ni, optima_tensor* out, uint32_t no, optima_status* s) {
    return guard(s, [&] { self(c)->execute(Tensors(in, ni), OutTensors(out, no)); });
  }
  static int32_t execute_within(optima_context* c, const optima_execute_request* r, optima_status* s) {
    return guard(s, [&] {
      const optima_execute_request q = known(r);
      self(c)->execute_within(Tensors(q.in, q.in_count), OutTensors(q.out, q.out_count), RunControl(&q));
    });
  }
  static int32_t reset(optima_context* c, optima_status* s) {
    return guard(s, [&] { self(c)->reset(); });
  }
  static int32_t output_shapes(optima_context* c, const optima_tensor* in, uint32_t ni, optima_shape* out, uint32_t no, optima_status* s) {
    return guard(s, [&] { self(c)->output_shapes(Tensors(in, ni), OutShapes(out, no)); });
  }

  // Optional extensions.
  static int32_t infer(optima_plugin* p, const optima_graph* g, uint32_t node, TypeSink::Set set, void* data, optima_status* s) {
    return guard(s, [&] { self(p)->infer(Node(g, optima_get_node(g->image, node)), TypeSink(set, data)); });
  }
  static int32_t function_body(optima_plugin* p, const optima_graph* g, uint32_t node, int32_t (*set_text)(void*, optima_str), void* data, optima_status* s) {
    return guard(s, [&] {
      const std::string text = self(p)->function_body(Node(g, optima_get_node(g->image, node)));
      if (text.empty()) throw Error(OPTIMA_NOT_FOUND, "no function body");
      ok(set_text(data, str(text)));
    });
  }
  static int32_t evaluate(optima_plugin* p, const optima_graph* g, uint32_t node, const optima_tensor* in, uint32_t ni, optima_tensor* out, uint32_t no, optima_status* s) {
    return guard(s, [&] { self(p)->evaluate(Node(g, optima_get_node(g->image, node)), Tensors(in, ni), OutTensors(out, no)); });
  }
  static int32_t estimate(optima_plugin* p, const optima_check_request* r, int32_t (*add)(void*, const optima_cost*, uint32_t), void* data, optima_status* s) {
    return guard(s, [&] {
      const std::vector<optima_cost> costs = self(p)->estimate(CheckRequest(r));
      if (!costs.empty()) ok(add(data, costs.data(), static_cast<uint32_t>(costs.size())));
    });
  }
  static int32_t describe(optima_plugin* p, const optima_describe_request* r, int32_t (*set_json)(void*, optima_str), void* data, optima_status* s) {
    return guard(s, [&] {
      const optima_describe_request q = known(r);
      const std::optional<std::string> json = self(p)->describe(view(q.name), *q.file);
      if (!json) throw Error(OPTIMA_NOT_FOUND, "not a kind of file of this plugin");
      ok(set_json(data, str(*json)));
    });
  }
  static int32_t profile_enable(optima_context* c, uint32_t on, optima_status* s) {
    return guard(s, [&] { self(c)->profile(on != 0); });
  }
  static int32_t profile_read(optima_context* c, EventSink::Add add, void* data, optima_status* s) {
    return guard(s, [&] { self(c)->read_profile(EventSink(add, data)); });
  }
  static int32_t submit(optima_context* c, const optima_tensor* in, uint32_t ni, optima_tensor* out, uint32_t no, const optima_fence_point* waits, uint32_t nw,
                        optima_fence_point signal, optima_status* s) {
    return guard(s, [&] { self(c)->submit(Tensors(in, ni), OutTensors(out, no), {waits, nw}, signal); });
  }
  static int32_t cancel(optima_context* c, optima_status* s) {
    return guard(s, [&] { self(c)->cancel(); });
  }
  static int32_t memory_kinds(optima_program* p, uint32_t binding, uint32_t* kinds, uint32_t* count, optima_status* s) {
    return guard(s, [&] {
      const std::vector<uint32_t> all = self(p)->memory_kinds(binding);
      for (uint32_t i = 0; i < *count && i < all.size(); ++i) kinds[i] = all[i];
      *count = static_cast<uint32_t>(all.size());
    });
  }
  static int32_t alloc(optima_plugin* p, optima_tensor* t, uint32_t alignment, optima_status* s) {
    return guard(s, [&] { self(p)->alloc(*t, alignment); });
  }
  static void release(optima_plugin* p, const optima_tensor* t) { self(p)->release(*t); }
  static int32_t import(optima_plugin* p, const optima_tensor* foreign, optima_tensor* imported, optima_status* s) {
    return guard(s, [&] { self(p)->import(*foreign, *imported); });
  }
  static int32_t copy(optima_plugin* p, const optima_tensor* from, optima_tensor* to, optima_status* s) {
    return guard(s, [&] { self(p)->copy(*from, *to); });
  }

  /// The tables of the bases P has; the others are null. Plain constants: no constructors, no unique symbols.
  static const void* extension(optima_plugin*, optima_str id) {
    using T = Thunk;
    if constexpr (std::is_base_of_v<Compiler, P>) {
      static constexpr optima_compiler table = {sizeof(table), 0, T::check, T::compile};
      if (optima_str_is(id, OPTIMA_EXT_COMPILER)) return &table;
    }
    if constexpr (std::is_base_of_v<Runtime, P>) {
      static constexpr optima_runtime table = {sizeof(table), 0, T::check_artifact, T::load, T::bindings, T::context_create,
                                               T::context_destroy, T::program_destroy, T::execute, T::output_shapes,
                                               std::is_base_of_v<ContextOptions, P> ? T::context_open : nullptr,
                                               std::is_base_of_v<Stoppable, P> ? T::execute_within : nullptr, T::reset};
      if (optima_str_is(id, OPTIMA_EXT_RUNTIME)) return &table;
    }
    if constexpr (std::is_base_of_v<Schema, P>) {
      static constexpr optima_schema table = {sizeof(table), 0, T::infer, T::function_body, T::evaluate};
      if (optima_str_is(id, OPTIMA_EXT_SCHEMA)) return &table;
    }
    if constexpr (std::is_base_of_v<CostModel, P>) {
      static constexpr optima_cost_model table = {sizeof(table), 0, T::estimate};
      if (optima_str_is(id, OPTIMA_EXT_COST)) return &table;
    }
    if constexpr (std::is_base_of_v<Describer, P>) {
      static constexpr optima_describer table = {sizeof(table), 0, T::describe};
      if (optima_str_is(id, OPTIMA_EXT_DESCRIBE)) return &table;
    }
    if constexpr (std::is_base_of_v<Doors, P>) {
      static constexpr optima_doors table = {sizeof(table), 0, T::offer_doors, T::takes_door};
      if (optima_str_is(id, OPTIMA_EXT_DOOR)) return &table;
    }
    if constexpr (std::is_base_of_v<Profiler, P>) {
      static constexpr optima_profile table = {sizeof(table), 0, T::profile_enable, T::profile_read};
      if (optima_str_is(id, OPTIMA_EXT_PROFILE)) return &table;
    }
    if constexpr (std::is_base_of_v<Async, P>) {
      static constexpr optima_async table = {sizeof(table), 0, T::submit, T::cancel};
      if (optima_str_is(id, OPTIMA_EXT_ASYNC)) return &table;
    }
    if constexpr (std::is_base_of_v<Memory, P>) {
      static constexpr optima_memory table = {sizeof(table), 0, T::memory_kinds, T::alloc, T::release, T::import, T::copy};
      if (optima_str_is(id, OPTIMA_EXT_MEMORY)) return &table;
    }
    return nullptr;
  }
};

constexpr optima_str literal(std::string_view s) { return {s.data(), s.size()}; }

template <class P>
constexpr optima_plugin_api api(const Info& info) {
  return {sizeof(optima_plugin_api), OPTIMA_ABI_MAJOR, OPTIMA_ABI_MINOR, OPTIMA_TARGET_MINOR, kSanitizer,
          (info.single_instance ? uint32_t{OPTIMA_PLUGIN_SINGLE_INSTANCE} : 0u) | (info.cancel_by_kill ? uint32_t{OPTIMA_PLUGIN_CANCEL_BY_KILL} : 0u),
          literal(info.id), literal(info.vendor), literal(info.version), literal(info.build_id),
          Thunk<P>::init, Thunk<P>::deinit, Thunk<P>::devices, Thunk<P>::extension};
}

}  // namespace detail
}  // namespace v0_1
}  // namespace optima::sdk

/// Emits the root table and the one export. P: a class with the bases above and a constructor from const Init&; info: a
/// constexpr Info. Once per plugin file, at global scope.
#define OPTIMA_PLUGIN(P, info)                                                                                              \
  static_assert(optima::sdk::valid_id((info).id), "a plugin id has 1 to 64 characters of a-z 0-9 _ . -");                   \
  static_assert(std::is_base_of_v<optima::sdk::Plugin, P>, "a plugin derives from optima::sdk::Plugin");                    \
  OPTIMA_EXPORT const optima_plugin_api* optima_plugin_query(uint32_t major, const optima_host*, optima_status* status) {   \
    static constexpr optima_plugin_api table = optima::sdk::detail::api<P>(info);                                           \
    if (major == OPTIMA_ABI_MAJOR) return &table;                                                                           \
    optima::sdk::set(status, OPTIMA_INCOMPATIBLE, "plugin speaks ABI major 0 only, host asked for " + std::to_string(major)); \
    return nullptr;                                                                                                         \
  }
