/*
 * json_tree: JSON text from outside into a tree, and a part of it back into text.
 *
 * Trees are jansson's; they live in a request's arena, cost no malloc of their own, and are never decref'd. At most 32
 * levels deep, duplicate keys refused, integers within 64 bits.
 */
#ifndef PATTERND_JSON_TREE_H
#define PATTERND_JSON_TREE_H

#include <jansson.h>

#include "arena.h"
#include "text.h"

/* Parses a body. NULL: `why` (in the caller's buffer) is for a person. */
json_t *json_tree_parse(struct arena *arena, struct text body, char *why, size_t why_size);

/* A value as JSON text in the arena; absent without memory (arena->failed is set then). */
struct text json_tree_text(struct arena *arena, json_t *value);

#endif
