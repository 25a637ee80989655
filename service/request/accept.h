/*
 * accept: how well a media type or a content coding suits a header of the client (RFC 9110 sections
 * 12.5.1 and 12.5.3). Pure.
 */
#ifndef PATTERND_ACCEPT_H
#define PATTERND_ACCEPT_H

#include <stdbool.h>

#include "core/text.h"

/*
 * Of two media types, the one with the larger result is preferred. 0: excluded (q=0); negative: no
 * media range matches. The most specific range that matches decides; parameters other than q are
 * ignored. Without the header, all types are equal.
 */
int accept_quality(struct text accept, const char *media_type);

/* Returns true if Accept-Encoding, which may be absent, allows the coding. */
bool accept_coding(struct text accept_encoding, const char *coding);

#endif
