/*
 * web: the pages for people, /ui and /docs, and the way to them from /: files of web/ and of npm
 * packages that the build has put into the program (tools/embed_web.py).
 */
#ifndef PATTERND_WEB_H
#define PATTERND_WEB_H

#include "core/text.h"

struct web_asset {
	const char *path; /* "ui", "ui/ui.js", "favicon.ico"; NULL ends the table */
	const char *content_type;
	const char *etag; /* with its quotes */
	struct text body; /* compressed by gzip */
};

/* Generated. Nowhere (NULL) in a program that was built with -DPATTERND_WEB=OFF. */
extern const struct web_asset web_assets[] __attribute__((weak, visibility("hidden")));

/* Has the pages served. */
void web_open(void);

#endif
