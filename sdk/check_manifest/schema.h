/* SPDX-License-Identifier: Apache-2.0
 * sdk/check_manifest: a value against a JSON schema, of which it knows the keywords that manifest.schema.json uses; what is wrong goes
 * to stderr, one line each: FILE:LINE: PLACE: found X, wanted Y. */
#ifndef OPTIMA_CHECK_MANIFEST_SCHEMA_H
#define OPTIMA_CHECK_MANIFEST_SCHEMA_H

#include <regex.h>
#include <stdarg.h>

#include "json.h"

static const char* checked_file;
static int mistakes;

typedef struct place { char text[256]; } place;

__attribute__((format(printf, 3, 4))) static void wrong(const json* at, const place* where, const char* format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s:%d: error: %s%s", checked_file, at->line, where->text, *where->text ? ": " : "");
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  ++mistakes;
}

__attribute__((format(printf, 2, 3))) static place below(const place* outer, const char* format, ...) {
  place p = *outer;
  const size_t n = strlen(p.text);
  va_list args;
  va_start(args, format);
  vsnprintf(p.text + n, sizeof p.text - n, format, args);
  va_end(args);
  return p;
}
static place member_place(const place* outer, const char* key) { return below(outer, "%s%s", *outer->text ? "." : "", key); }

/* A value as the user wrote it, for "found". */
static const char* shown(const json* v) {
  static const char* kinds[] = {"null", "", "", "", "an array", "an object"};
  if (v->type == JSON_BOOL) return v->is_true ? "true" : "false";
  if (v->type == JSON_NUMBER) return v->text;
  if (v->type != JSON_STRING) return kinds[v->type];
  char* out = (char*)take(strlen(v->text) + 3);
  sprintf(out, "'%s'", v->text);
  return out;
}

/* ---- the nearest of several names */

typedef struct nearest {
  const char* wanted;
  const char* name; /* the best so far, or null */
  size_t distance;
} nearest;

static size_t edit_distance(const char* a, const char* b) {
  enum { MOST = 64 };
  size_t row[MOST + 1], n = strlen(b);
  if (n > MOST || strlen(a) > MOST) return (size_t)-1;
  for (size_t j = 0; j <= n; ++j) row[j] = j;
  for (size_t i = 0; a[i]; ++i) {
    size_t before = row[0];
    row[0] = i + 1;
    for (size_t j = 1; j <= n; ++j) {
      const size_t swap = before + (a[i] != b[j - 1]);
      before = row[j];
      row[j] = swap < row[j] + 1 ? swap : row[j] + 1;
      if (row[j - 1] + 1 < row[j]) row[j] = row[j - 1] + 1;
    }
  }
  return row[n];
}
static void offer(nearest* n, const char* name) {
  const size_t d = edit_distance(n->wanted, name), most = strlen(n->wanted) / 2 > 1 ? strlen(n->wanted) / 2 : 1;
  if (d <= most && (!n->name || d < n->distance)) n->name = name, n->distance = d;
}
/* " (nearest: 'x')", or "". */
static const char* hint(const nearest* n) {
  if (!n->name) return "";
  char* out = (char*)take(strlen(n->name) + 16);
  sprintf(out, " (nearest: '%s')", n->name);
  return out;
}
static nearest nearest_of(const char* wanted, const json* list) {
  nearest n = {wanted, NULL, 0};
  for (const json* e = list ? list->first : NULL; e; e = e->next) {
    if (list->type == JSON_OBJECT) offer(&n, e->key);
    else if (e->type == JSON_STRING) offer(&n, e->text);
  }
  return n;
}

/* ---- keywords */

static const json* schema_root;

static int has_type(const json* v, const char* type) {
  static const char* names[] = {"null", "boolean", "number", "string", "array", "object"};
  if (strcmp(type, "integer") == 0) return v->type == JSON_NUMBER && v->is_integer;
  return strcmp(names[v->type], type) == 0;
}

static void check_enum(const json* values, const json* v, const place* where) {
  char list[512] = "";
  for (const json* e = values->first; e; e = e->next) {
    if (v->type == JSON_STRING && strcmp(e->text, v->text) == 0) return;
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "", e->text);
  }
  const nearest n = nearest_of(v->type == JSON_STRING ? v->text : "", values);
  wrong(v, where, "found %s, wanted one of %s%s", shown(v), list, hint(&n));
}

static void check_text(const json* schema, const json* v, const place* where) {
  const json *least = member(schema, "minLength"), *most = member(schema, "maxLength"), *pattern = member(schema, "pattern");
  const double size = (double)strlen(v->text);
  if ((least && size < least->number) || (most && size > most->number))
    wrong(v, where, "found a text of %g bytes, wanted %s%s", size, least ? "at least " : "at most ", least ? least->text : most->text);
  regex_t compiled;
  if (!pattern) return;
  if (regcomp(&compiled, pattern->text, REG_EXTENDED | REG_NOSUB) != 0) {
    fprintf(stderr, "check_manifest: the schema's pattern %s is not a POSIX one\n", pattern->text);
    exit(2);
  }
  if (regexec(&compiled, v->text, 0, NULL, 0) != 0) wrong(v, where, "found %s, wanted %s", shown(v), pattern->text);
  regfree(&compiled);
}

static void check(const json* schema, const json* v, const place* where);

static void check_array(const json* schema, const json* v, const place* where) {
  const json *least = member(schema, "minItems"), *most = member(schema, "maxItems"), *unique = member(schema, "uniqueItems");
  const json *items = member(schema, "items"), *prefix = member(schema, "prefixItems");
  const int n = length(v);
  if (least && n < least->number) wrong(v, where, "found %d entries, wanted at least %s", n, least->text);
  if (most && n > most->number) wrong(v, where, "found %d entries, wanted at most %s", n, most->text);
  const json* fixed = prefix ? prefix->first : NULL;
  int k = 0;
  for (const json* e = v->first; e; e = e->next, ++k) {
    const place inside = below(where, "[%d]", k);
    if (fixed) check(fixed, e, &inside);
    else if (items) check(items, e, &inside);
    fixed = fixed ? fixed->next : NULL;
    for (const json* later = unique && e->type == JSON_STRING ? e->next : NULL; later; later = later->next)
      if (later->type == JSON_STRING && strcmp(later->text, e->text) == 0) wrong(later, where, "%s is there twice", shown(later));
  }
}

static void check_object(const json* schema, const json* v, const place* where) {
  const json *known = member(schema, "properties"), *needed = member(schema, "required"), *others = member(schema, "additionalProperties");
  for (const json* r = needed ? needed->first : NULL; r; r = r->next)
    if (!member(v, r->text)) wrong(v, where, "key '%s' is missing", r->text);
  for (const json* m = v->first; m; m = m->next) {
    const json* of = known ? member(known, m->key) : NULL;
    const place inside = member_place(where, m->key);
    if (member(v, m->key) != m) wrong(m, where, "key '%s' is there twice", m->key);
    if (of) {
      check(of, m, &inside);
    } else if (others && others->type == JSON_BOOL && !others->is_true) {
      const nearest n = nearest_of(m->key, known);
      wrong(m, where, "key '%s' is not known%s", m->key, hint(&n));
    }
  }
}

static void check(const json* schema, const json* v, const place* where) {
  const json *ref = member(schema, "$ref"), *type = member(schema, "type"), *constant = member(schema, "const"), *values = member(schema, "enum");
  const json *least = member(schema, "minimum"), *most = member(schema, "maximum");
  if (schema->type == JSON_BOOL) return; /* true: anything */
  if (ref && strncmp(ref->text, "#/$defs/", 8) == 0) check(member(member(schema_root, "$defs"), ref->text + 8), v, where);
  if (type && !has_type(v, type->text)) {
    wrong(v, where, "found %s, wanted a value of type %s", shown(v), type->text);
    return;
  }
  if (constant && (v->type != JSON_NUMBER || v->number != constant->number)) wrong(v, where, "found %s, wanted %s", shown(v), constant->text);
  if (values) check_enum(values, v, where);
  if (v->type == JSON_NUMBER && ((least && v->number < least->number) || (most && v->number > most->number)))
    wrong(v, where, "found %s, wanted %s or %s", v->text, least ? least->text : most->text, least ? "more" : "less");
  if (v->type == JSON_STRING) check_text(schema, v, where);
  if (v->type == JSON_ARRAY) check_array(schema, v, where);
  if (v->type == JSON_OBJECT) check_object(schema, v, where);
}

#endif /* OPTIMA_CHECK_MANIFEST_SCHEMA_H */
