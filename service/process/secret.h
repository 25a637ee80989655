/*
 * secret: hides passwords of URLs in process lists and in the configuration that is shown. It must
 * not know which options have a URL.
 */
#ifndef PATTERND_SECRET_H
#define PATTERND_SECRET_H

#include <stddef.h>

#include "core/text.h"

/* Overwrites the password in place, so that process lists do not show it. */
void secret_hide(char *url);

/*
 * Redacts redis://user:secret@host to redis://user:...@host. Returns `out`, or the URL if it has no
 * password.
 */
struct text secret_redacted(const char *url, char *out, size_t size);

#endif
