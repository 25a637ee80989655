/*
 * match: the value of `?match=`, literal text in which `*`, at most twice, matches any run of
 * bytes, as a glob for Redis.
 *
 * Redis's matcher takes time with the pattern as with the name, and classes multiply it: no byte of
 * a client reaches it unescaped but these two stars.
 */
#ifndef PATTERND_MATCH_H
#define PATTERND_MATCH_H

#include "request/answer.h"

/* A glob that matches just these bytes, in the request's arena; absent without memory. */
struct text match_literal(struct request *req, struct text bytes);

/* Makes `*glob` of a `match`, absent for an absent one. False: answered, 400 or 503. */
bool match_glob(struct request *req, struct text match, struct text *glob);

/* The longest literal run behind a star: what the matcher may compare at each byte of a name. */
size_t match_depth(struct text match);

#endif
