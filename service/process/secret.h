/* secret: passwords in URLs, hidden from process lists and from the configuration as shown. */
#ifndef PATTERND_SECRET_H
#define PATTERND_SECRET_H

#include <stddef.h>

#include "core/text.h"

/* Overwrites the password where it is, so that the list of processes does not show it. */
void secret_hide(char *url);

/* redis://user:secret@host becomes redis://user:...@host. Returns `out`, or the URL itself. */
struct text secret_redacted(const char *url, char *out, size_t size);

#endif
