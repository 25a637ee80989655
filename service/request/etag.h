/*
 * etag: the headers If-Match and If-None-Match (RFC 9110 section 13.1) taken apart. Pure; knows nothing of what has a tag.
 */
#ifndef PATTERND_ETAG_H
#define PATTERND_ETAG_H

#include "core/arena.h"

/* Strong comparison takes no weak tag for equal to anything; weak comparison does not tell them apart. */
enum etag_comparison { ETAG_STRONG, ETAG_WEAK };

/*
 * What a script can search: "" for a header that is absent, "*" for any tag, else the tags that can be equal to a strong one,
 * without their quotes, each between two blanks: ` a  b `. No tag holds a blank. Absent when the header is neither "*" nor
 * a list of entity tags, or without memory.
 */
struct text etag_list(struct arena *arena, struct text header, enum etag_comparison comparison);

#endif
