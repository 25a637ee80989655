/* secret: passwords in URLs, kept from the list of processes and from what is shown of the configuration. Knows no more of URLs. */
#ifndef PATTERND_SECRET_H
#define PATTERND_SECRET_H

#include <stddef.h>

#include "core/text.h"

/* Overwrites the password where it is, so that the list of processes does not show it. */
void secret_hide(char *url);

/* The URL for people to see: redis://user:secret@host is redis://user:...@host. In `out`, or the URL itself. */
struct text secret_redacted(const char *url, char *out, size_t size);

#endif
