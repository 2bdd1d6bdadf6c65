/* SPDX-License-Identifier: Apache-2.0
 * sdk/check_manifest: JSON as a tree that knows its lines. Strict (RFC 8259), at most 64 levels deep, texts without NUL. C11 that is
 * also C++17. Nothing is freed: the program ends soon. */
#ifndef OPTIMA_CHECK_MANIFEST_JSON_H
#define OPTIMA_CHECK_MANIFEST_JSON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

typedef struct json {
  int type, line;
  int is_true;            /* BOOL */
  int is_integer;         /* NUMBER: written without fraction and exponent */
  double number;          /* NUMBER */
  const char* text;       /* STRING: its UTF-8; NUMBER: as written */
  const char* key;        /* of a member */
  struct json *first, *next; /* ARRAY, OBJECT: what is inside; the next of its neighbours */
} json;

/* Memory that stays reachable, so that a leak checker has nothing to say. */
static void* take(size_t size) {
  typedef struct block { struct block* before; } block;
  static block* all = NULL;
  block* b = (block*)calloc(1, sizeof(block) + size);
  if (!b) {
    fputs("check_manifest: out of memory\n", stderr);
    exit(2);
  }
  b->before = all;
  all = b;
  return b + 1;
}

typedef struct reader {
  const char* at;
  const char* wrong; /* what was wanted, or null */
  int line;
} reader;

static int fail_here(reader* r, const char* wanted) {
  if (!r->wrong) r->wrong = wanted;
  return 0;
}

static void skip_blanks(reader* r) {
  for (; *r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'; ++r->at) r->line += *r->at == '\n';
}

static int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int read_hex(reader* r, unsigned* code) {
  *code = 0;
  for (int k = 0; k < 4; ++k, ++r->at) {
    if (hex_of(*r->at) < 0) return fail_here(r, "four hexadecimal digits");
    *code = *code * 16 + (unsigned)hex_of(*r->at);
  }
  return 1;
}

static char* put_utf8(char* to, unsigned c) {
  if (c < 0x80) return *to++ = (char)c, to;
  if (c < 0x800) return *to++ = (char)(0xC0 | c >> 6), *to++ = (char)(0x80 | (c & 63)), to;
  if (c < 0x10000) return *to++ = (char)(0xE0 | c >> 12), *to++ = (char)(0x80 | (c >> 6 & 63)), *to++ = (char)(0x80 | (c & 63)), to;
  return *to++ = (char)(0xF0 | c >> 18), *to++ = (char)(0x80 | (c >> 12 & 63)), *to++ = (char)(0x80 | (c >> 6 & 63)), *to++ = (char)(0x80 | (c & 63)), to;
}

static int read_escape(reader* r, char** to) {
  static const char from[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
  const char c = *r->at;
  const char* known = c ? strchr(from, c) : NULL;
  unsigned code, low;
  if (c != 'u' && !known) return fail_here(r, "an escape of JSON");
  ++r->at;
  if (known) return *(*to)++ = means[known - from], 1;
  if (!read_hex(r, &code)) return 0;
  if (code >= 0xD800 && code < 0xDC00) {
    if (r->at[0] != '\\' || r->at[1] != 'u') return fail_here(r, "the second half of a surrogate pair");
    r->at += 2;
    if (!read_hex(r, &low)) return 0;
    if (low < 0xDC00 || low > 0xDFFF) return fail_here(r, "the second half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code < 0xE000) {
    return fail_here(r, "the first half of a surrogate pair before the second");
  }
  if (code == 0) return fail_here(r, "a character other than NUL");
  *to = put_utf8(*to, code);
  return 1;
}

static char* read_text(reader* r) {
  const char* end = r->at + 1;
  while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
  char *const text = (char*)take((size_t)(end - r->at) + 1), *to = text;
  for (++r->at; *r->at != '"';) {
    if ((unsigned char)*r->at < 0x20) return fail_here(r, "the end of a text on its line"), (char*)NULL;
    if (*r->at != '\\') *to++ = *r->at++;
    else if (++r->at, !read_escape(r, &to)) return NULL;
  }
  ++r->at;
  return text;
}

static int digits(reader* r) {
  if (*r->at < '0' || *r->at > '9') return fail_here(r, "a digit");
  while (*r->at >= '0' && *r->at <= '9') ++r->at;
  return 1;
}

static int read_number(reader* r, json* v) {
  const char* start = r->at;
  v->type = JSON_NUMBER;
  v->is_integer = 1;
  if (*r->at == '-') ++r->at;
  if (*r->at == '0') ++r->at;
  else if (!digits(r)) return 0;
  if (*r->at == '.') {
    v->is_integer = 0, ++r->at;
    if (!digits(r)) return 0;
  }
  if (*r->at == 'e' || *r->at == 'E') {
    v->is_integer = 0, ++r->at;
    if (*r->at == '+' || *r->at == '-') ++r->at;
    if (!digits(r)) return 0;
  }
  char* text = (char*)take((size_t)(r->at - start) + 1);
  memcpy(text, start, (size_t)(r->at - start));
  v->text = text;
  v->number = strtod(text, NULL);
  return 1;
}

static int read_word(reader* r, const char* word) {
  const size_t n = strlen(word);
  if (strncmp(r->at, word, n) != 0) return fail_here(r, "a value of JSON");
  r->at += n;
  return 1;
}

static json* read_value(reader* r, int depth);

/* Members or elements, up to `close`. */
static int read_items(reader* r, json* v, char close, int depth) {
  json** last = &v->first;
  ++r->at;
  skip_blanks(r);
  if (*r->at == close) return ++r->at, 1;
  for (;;) {
    char* key = NULL;
    skip_blanks(r);
    if (v->type == JSON_OBJECT) {
      if (*r->at != '"') return fail_here(r, "a key in quotation marks");
      if (!(key = read_text(r))) return 0;
      skip_blanks(r);
      if (*r->at != ':') return fail_here(r, "':' behind the key");
      ++r->at;
    }
    json* item = read_value(r, depth);
    if (!item) return 0;
    item->key = key;
    *last = item;
    last = &item->next;
    skip_blanks(r);
    if (*r->at == close) return ++r->at, 1;
    if (*r->at != ',') return fail_here(r, close == '}' ? "',' or '}'" : "',' or ']'");
    ++r->at;
  }
}

static json* read_value(reader* r, int depth) {
  json* v = (json*)take(sizeof *v);
  int good = 1;
  skip_blanks(r);
  v->line = r->line;
  if (depth > 64) good = fail_here(r, "at most 64 levels");
  else if (*r->at == '{') v->type = JSON_OBJECT, good = read_items(r, v, '}', depth + 1);
  else if (*r->at == '[') v->type = JSON_ARRAY, good = read_items(r, v, ']', depth + 1);
  else if (*r->at == '"') v->type = JSON_STRING, good = (v->text = read_text(r)) != NULL;
  else if (*r->at == 't') v->type = JSON_BOOL, v->is_true = 1, good = read_word(r, "true");
  else if (*r->at == 'f') v->type = JSON_BOOL, good = read_word(r, "false");
  else if (*r->at == 'n') good = read_word(r, "null");
  else if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')) good = read_number(r, v);
  else good = fail_here(r, "a value of JSON");
  return good ? v : NULL;
}

/* Null, with r->wrong and r->line, when the text is no JSON document. */
static json* read_document(reader* r) {
  json* v = read_value(r, 0);
  if (!v) return NULL;
  skip_blanks(r);
  if (*r->at) fail_here(r, "the end of the file");
  return r->wrong ? NULL : v;
}

static json* member(const json* v, const char* key) {
  for (json* m = v && v->type == JSON_OBJECT ? v->first : NULL; m; m = m->next)
    if (strcmp(m->key, key) == 0) return m;
  return NULL;
}
/* The text of a member, or "" when it has none. */
static const char* text_of(const json* v, const char* key) {
  const json* m = member(v, key);
  return m && m->type == JSON_STRING ? m->text : "";
}
static int length(const json* v) {
  int n = 0;
  for (const json* e = v->first; e; e = e->next) ++n;
  return n;
}
static int holds(const json* list, const char* text) {
  for (const json* e = list && list->type == JSON_ARRAY ? list->first : NULL; e; e = e->next)
    if (e->type == JSON_STRING && strcmp(e->text, text) == 0) return 1;
  return 0;
}

#endif /* OPTIMA_CHECK_MANIFEST_JSON_H */
