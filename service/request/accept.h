/* accept: how well a media type suits an Accept header (RFC 9110 section 12.5.1). Pure. */
#ifndef PATTERND_ACCEPT_H
#define PATTERND_ACCEPT_H

#include "core/text.h"

/*
 * Of two media types, the one with the larger result is preferred. 0: excluded (q=0); negative: no
 * media range matches. The most specific range that matches decides; parameters other than q are
 * ignored. Without the header, all types are equal.
 */
int accept_quality(struct text accept, const char *media_type);

#endif
