/* SPDX-License-Identifier: Apache-2.0
 * sdk/check_manifest: what optima_add_plugin() runs over a manifest that was written by hand, so that mistakes show when the plugin is
 * built and not when a user's host refuses it, or worse, never asks it.
 *
 *   check_manifest MANIFEST SCHEMA OPERATORS ABI_MAJOR ABI_MINOR [BUILD_ID]
 *
 * SCHEMA: manifest.schema.json. OPERATORS: lines "domain op since_versions...", "ai.onnx" for the domain that manifests write as "".
 * BUILD_ID: what the sources are compiled with. Exit status 0: nothing is wrong; 1: what stderr says; 2: the program could not run.
 * C11 that is also C++17; needs nothing but a C library. */
#include "schema.h"

/* ---- files */

static char* read_file(const char* path) {
  FILE* f = fopen(path, "rb");
  size_t size = 0, room = 1 << 16;
  char* text = (char*)take(room);
  if (!f) {
    fprintf(stderr, "check_manifest: cannot read %s\n", path);
    exit(2);
  }
  for (size_t n; (n = fread(text + size, 1, room - size - 1, f)) > 0;) {
    size += n;
    if (size + 1 < room) continue;
    char* larger = (char*)take(room *= 2);
    memcpy(larger, text, size);
    text = larger;
  }
  fclose(f);
  text[size] = 0;
  return text;
}

static json* read_json(const char* path) {
  reader r = {read_file(path), NULL, 1};
  json* document = read_document(&r);
  if (!document) fprintf(stderr, "%s:%d: error: not JSON: wanted %s\n", path, r.line, r.wrong);
  return document;
}

/* ---- the operators of ONNX */

static const char* operator_list;

/* The line of an operator, behind its name: " 1 6 13\n...", or null. `near`, when given, is offered every name of the domain. */
static const char* find_operator(const char* domain, const char* op, nearest* near) {
  const char* of = *domain ? domain : "ai.onnx";
  const size_t n = strlen(of);
  for (const char* line = operator_list; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    if (strncmp(line, of, n) != 0 || line[n] != ' ') continue;
    const char* name = line + n + 1;
    const size_t size = strcspn(name, " \n");
    if (size == strlen(op) && strncmp(name, op, size) == 0) return name + size;
    if (!near) continue;
    char* copy = (char*)take(size + 1);
    memcpy(copy, name, size);
    offer(near, copy);
  }
  return NULL;
}

static int knows_domain(const char* domain) {
  const size_t n = strlen(domain);
  for (const char* line = operator_list; *line; line += strcspn(line, "\n"), line += *line == '\n')
    if (n && strncmp(line, domain, n) == 0 && line[n] == ' ') return 1;
  return n == 0;
}

/* Whether one of the versions " 1 6 13" lies within [low, high]. */
static int has_version(const char* versions, double low, double high) {
  while (*versions == ' ') {
    char* end;
    const double v = strtod(versions, &end);
    if (v >= low && v <= high) return 1;
    versions = end;
  }
  return 0;
}

/* ---- what a schema cannot say. Each looks only at what has the right type; the schema has said the rest. */

static int is_range(const json* v) {
  return v && v->type == JSON_ARRAY && length(v) == 2 && v->first->type == JSON_NUMBER && v->first->next->type == JSON_NUMBER;
}

static void check_range(const json* v, const place* where) {
  if (is_range(v) && v->first->number > v->first->next->number)
    wrong(v, where, "found [%s, %s], wanted the smaller number first", v->first->text, v->first->next->text);
}

static void check_kinds(const json* root, const json* op, const place* where) {
  const json *kinds = member(op, "kinds"), *devices = member(root, "devices");
  for (const json* k = kinds && kinds->type == JSON_ARRAY ? kinds->first : NULL; k; k = k->next) {
    const place at = member_place(where, "kinds");
    nearest n = {k->type == JSON_STRING ? k->text : "", NULL, 0};
    int found = k->type != JSON_STRING;
    for (const json* d = devices ? devices->first : NULL; d; d = d->next) {
      found = found || strcmp(text_of(d, "kind"), n.wanted) == 0;
      offer(&n, text_of(d, "kind"));
    }
    if (!found) wrong(k, &at, "found '%s', wanted a kind that devices lists%s", k->text, hint(&n));
  }
}

static void check_versions(const json* op, const char* versions, const place* where) {
  const json* since = member(op, "since_version");
  if (!is_range(since) || has_version(versions, since->first->number, since->first->next->number)) return;
  const place at = member_place(where, "since_version");
  wrong(since, &at, "found [%s, %s], wanted one with a version in which %s changed:%.*s", since->first->text, since->first->next->text, text_of(op, "op"),
        (int)strcspn(versions, "\n"), versions);
}

static void check_operator_name(const json* root, const json* op, const place* where) {
  const json *domain = member(op, "domain"), *name = member(op, "op");
  if (!domain || !name || domain->type != JSON_STRING || name->type != JSON_STRING) return;
  if (strcmp(domain->text, "ai.onnx") == 0) {
    const place at = member_place(where, "domain");
    wrong(domain, &at, "found 'ai.onnx', wanted '', which is how ONNX's own domain is written here");
    return;
  }
  if (holds(member(root, "domains"), domain->text)) return;
  const place at = member_place(where, "op");
  nearest near = {name->text, NULL, 0};
  const char* versions = find_operator(domain->text, name->text, &near);
  if (versions) check_versions(op, versions, where);
  else if (knows_domain(domain->text)) wrong(name, &at, "found '%s', wanted an operator of ONNX%s", name->text, hint(&near));
}

static void check_operators(const json* root) {
  const json* list = member(root, "operators");
  const place top = {""};
  int k = 0;
  for (const json* op = list && list->type == JSON_ARRAY ? list->first : NULL; op; op = op->next, ++k) {
    const place where = below(&top, "operators[%d]", k), since = member_place(&where, "since_version"), rank = member_place(&where, "rank");
    check_operator_name(root, op, &where);
    check_range(member(op, "since_version"), &since);
    check_range(member(op, "rank"), &rank);
    check_kinds(root, op, &where);
    const json *one = member(op, "rank"), *all = member(op, "ranks");
    if (!is_range(one) || !all || all->type != JSON_ARRAY || !is_range(all->first)) continue;
    if (one->first->number != all->first->first->number || one->first->next->number != all->first->first->next->number)
      wrong(all, &where, "ranks begins with [%s, %s], wanted rank's [%s, %s]", all->first->first->text, all->first->first->next->text, one->first->text,
            one->first->next->text);
  }
}

/* not_first and not_last name operators that the plugin takes. */
static void check_limits(const json* root) {
  static const char* keys[] = {"not_first", "not_last"};
  const json *limits = member(root, "limits"), *operators = member(root, "operators");
  for (int k = 0; k < 2; ++k) {
    const json* names = member(limits, keys[k]);
    const place top = {"limits"}, where = member_place(&top, keys[k]);
    for (const json* name = names && names->type == JSON_ARRAY ? names->first : NULL; name; name = name->next) {
      if (name->type != JSON_STRING) continue;
      nearest near = {name->text, NULL, 0};
      int found = 0;
      for (const json* op = operators ? operators->first : NULL; op; op = op->next) {
        found = found || strcmp(text_of(op, "op"), name->text) == 0;
        offer(&near, text_of(op, "op"));
      }
      if (!found) wrong(name, &where, "found '%s', wanted one of operators%s", name->text, hint(&near));
    }
  }
}

/* What a default of this type must be; null when `v` is that. */
static const char* default_misfit(const char* type, const json* v) {
  if (strcmp(type, "bool") == 0) return v->type == JSON_BOOL ? NULL : "true or false";
  if (strcmp(type, "int") == 0) return v->type == JSON_NUMBER && v->is_integer ? NULL : "an integer";
  if (strcmp(type, "float") == 0) return v->type == JSON_NUMBER ? NULL : "a number";
  if (strcmp(type, "list") == 0) return v->type == JSON_ARRAY ? NULL : "an array";
  return v->type == JSON_STRING ? NULL : "a text";
}

static void check_default(const json* option, const place* where) {
  const json *value = member(option, "default"), *values = member(option, "values"), *least = member(option, "min"), *most = member(option, "max");
  const place at = member_place(where, "default");
  if (!value || !member(option, "type")) return;
  const char* misfit = default_misfit(text_of(option, "type"), value);
  if (misfit) {
    wrong(value, &at, "found %s, wanted %s, as type is %s", shown(value), misfit, text_of(option, "type"));
  } else if (strcmp(text_of(option, "type"), "enum") == 0 && !holds(values, value->text)) {
    const nearest near = nearest_of(value->text, values);
    wrong(value, &at, "found %s, wanted one of the values%s", shown(value), hint(&near));
  } else if (value->type == JSON_NUMBER && ((least && value->number < least->number) || (most && value->number > most->number))) {
    wrong(value, &at, "found %s, wanted one within min and max", value->text);
  }
}

static void check_option(const json* root, const json* option, const place* where) {
  const char *name = text_of(option, "name"), *id = text_of(root, "id");
  const size_t n = strlen(id);
  const place at = member_place(where, "name");
  if (*name && n && (strncmp(name, id, n) != 0 || name[n] != '.' || !name[n + 1]))
    wrong(member(option, "name"), &at, "found '%s', wanted one that begins with the plugin's id and a dot, '%s.'", name, id);
  const json *values = member(option, "values"), *least = member(option, "min"), *most = member(option, "max");
  const int is_enum = strcmp(text_of(option, "type"), "enum") == 0;
  if (is_enum && (!values || values->type != JSON_ARRAY || !values->first)) wrong(option, where, "an enum has no values");
  if (!is_enum && values) wrong(values, where, "values are of an enum only, and type is %s", text_of(option, "type"));
  if (least && most && least->number > most->number) wrong(least, where, "min is %s and max %s, wanted min first", least->text, most->text);
  check_default(option, where);
  for (const json* other = option->next; other; other = other->next)
    if (*name && strcmp(text_of(other, "name"), name) == 0) wrong(other, &at, "option '%s' is there twice", name);
}

static void check_options(const json* root) {
  const json* list = member(root, "options");
  const place top = {""};
  int k = 0;
  for (const json* option = list && list->type == JSON_ARRAY ? list->first : NULL; option; option = option->next, ++k) {
    const place where = below(&top, "options[%d]", k);
    check_option(root, option, &where);
  }
}

static void check_devices(const json* root) {
  const json* list = member(root, "devices");
  const place where = {"devices"};
  for (const json* d = list && list->type == JSON_ARRAY ? list->first : NULL; d; d = d->next)
    for (const json* other = d->next; other; other = other->next)
      if (*text_of(d, "kind") && strcmp(text_of(d, "kind"), text_of(other, "kind")) == 0) wrong(other, &where, "kind '%s' is there twice", text_of(d, "kind"));
}

static void check_identity(const json* root, double major, double minor, const char* build_id) {
  const json *pairs = member(root, "abi"), *id = member(root, "id"), *build = member(root, "build_id");
  const place abi = {"abi"}, ids = {"id"}, builds = {"build_id"};
  int served = 0;
  for (const json* p = pairs && pairs->type == JSON_ARRAY ? pairs->first : NULL; p; p = p->next)
    served = served || (is_range(p) && p->first->number == major && p->first->next->number == minor);
  if (pairs && !served) wrong(pairs, &abi, "wanted the pair [%g, %g] of this SDK among them", major, minor);
  if (id && (strcmp(text_of(root, "id"), "optima") == 0 || *text_of(root, "id") == '.')) wrong(id, &ids, "found %s, wanted a name that is not reserved", shown(id));
  if (build && build_id && strcmp(text_of(root, "build_id"), build_id) != 0)
    wrong(build, &builds, "found %s, wanted '%s', which the sources are built with", shown(build), build_id);
}

int main(int argc, char** argv) {
  if (argc < 6) {
    fputs("usage: check_manifest MANIFEST SCHEMA OPERATORS ABI_MAJOR ABI_MINOR [BUILD_ID]\n", stderr);
    return 2;
  }
  const json *root = read_json(argv[1]), *schema = read_json(argv[2]);
  if (!root) return 1;
  if (!schema) return 2;
  checked_file = argv[1];
  schema_root = schema;
  operator_list = read_file(argv[3]);
  const place top = {""};
  check(schema, root, &top);
  if (root->type == JSON_OBJECT) {
    check_identity(root, strtod(argv[4], NULL), strtod(argv[5], NULL), argc > 6 ? argv[6] : NULL);
    check_devices(root);
    check_operators(root);
    check_limits(root);
    check_options(root);
  }
  return mistakes > 0;
}
