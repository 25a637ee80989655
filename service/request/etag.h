/*
 * etag: the headers If-Match and If-None-Match (RFC 9110 section 13.1) parsed. Pure; knows nothing
 * of what has a tag.
 */
#ifndef PATTERND_ETAG_H
#define PATTERND_ETAG_H

#include "core/arena.h"

/* In strong comparison a weak tag equals none; weak comparison ignores the difference. */
enum etag_comparison { ETAG_STRONG, ETAG_WEAK };

/*
 * For scripts to search: "" for an absent header, "*" for any tag, or the tags that can equal a
 * strong one, without their quotes, each between two blanks: ` a  b `. No tag holds a blank. Absent
 * when the header is neither "*" nor a list of entity tags, or without memory.
 */
struct text etag_list(struct arena *arena, struct text header, enum etag_comparison comparison);

#endif
