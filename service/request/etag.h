/*
 * etag: parses the headers If-Match and If-None-Match (RFC 9110 section 13.1). Pure: it must not
 * know which resources have tags.
 */
#ifndef PATTERND_ETAG_H
#define PATTERND_ETAG_H

#include "core/arena.h"

/* In strong comparison a weak tag matches none; weak comparison ignores the difference. */
enum etag_comparison { ETAG_STRONG, ETAG_WEAK };

/*
 * Returns a text for scripts to search: "" for an absent header, "*" for any tag; else the tags
 * that can match a strong one, without their quotes, each between two blanks: ` a  b `. No tag has
 * a blank. It is absent if the header is neither "*" nor a list of entity tags, or memory ran out.
 */
struct text etag_list(struct arena *arena, struct text header, enum etag_comparison comparison);

#endif
