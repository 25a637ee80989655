/*
 * push_file: reads and checks the targets of --push FILE.
 *
 * The file is a JSON object. Each member names a queue and where its messages are sent:
 *
 *	{"orders": {"url": "http://127.0.0.1:3000/jobs", "concurrency": 4}, ...}
 */
#ifndef PATTERND_PUSH_FILE_H
#define PATTERND_PUSH_FILE_H

#include "core/arena.h"

/* The settings of one target. */
struct push_settings {
	struct arena arena;         /* has all memory of the settings, this struct included */
	struct push_settings *next; /* the next target in the file */
	struct text written;        /* the text of the target in the file */
	struct text queue, url;
	struct text unix_socket; /* absent: TCP is used */
	struct text ready_url;   /* checked before the first push; absent: no check */
	struct text secret;      /* the key of signatures; absent: requests are not signed */
	int64_t concurrency, timeout_ms;
};

/*
 * Reads the targets into *out; it is NULL if there are none. Returns false if the file has a fault:
 * `why`, of `size` bytes, has its place and what is wrong, and *out is NULL.
 */
bool push_file_read(const char *path, struct push_settings **out, char *why, size_t size);

/* Frees these settings and all after them. */
void push_file_free(struct push_settings *first);

#endif
