/*
 * match: makes a glob for Redis from the value of `?match=`, which is literal text in which `*`, at
 * most twice, matches any run of bytes. Pure, except for the problem that it answers with.
 *
 * The time of Redis's matcher grows with the pattern and with the name, and classes multiply it. So
 * no byte of a client reaches it unescaped, except these two stars.
 */
#ifndef PATTERND_MATCH_H
#define PATTERND_MATCH_H

#include "request/answer.h"

/*
 * Returns a glob that matches exactly these bytes, in the request's arena; absent if memory ran
 * out.
 */
struct text match_literal(struct request *req, struct text bytes);

/*
 * Makes the glob of a `match`; absent for an absent one. False: the request was answered, with 400
 * or 503.
 */
bool match_glob(struct request *req, struct text match, struct text *glob);

/*
 * Returns the length of the longest literal text after a star, which the matcher may compare at
 * each byte of a name.
 */
size_t match_depth(struct text match);

#endif
