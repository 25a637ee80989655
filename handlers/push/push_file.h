/*
 * push_file: the targets of --push FILE.
 *
 * The file is a JSON object, each member a queue's name and where its messages go:
 *
 *	{"orders": {"url": "http://127.0.0.1:3000/jobs", "concurrency": 4}, ...}
 */
#ifndef PATTERND_PUSH_FILE_H
#define PATTERND_PUSH_FILE_H

#include "core/arena.h"

/* Of one target. */
struct push_settings {
	struct arena arena;         /* everything is in it, this struct, too */
	struct push_settings *next; /* in the order of the file */
	struct text written;        /* as the file has it */
	struct text queue, url;
	struct text unix_socket; /* absent: by TCP */
	struct text ready_url;   /* asked before the first push; absent: nothing is */
	struct text secret;      /* the key of signatures; absent: none is made */
	int64_t concurrency, timeout_ms;
};

/*
 * The targets; NULL for none. False: `why`, of `size` bytes, has the place and what is wrong, and
 * *out is NULL.
 */
bool push_file_read(const char *path, struct push_settings **out, char *why, size_t size);

/* Frees it, and those behind it. */
void push_file_free(struct push_settings *first);

#endif
