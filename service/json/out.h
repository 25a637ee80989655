/*
 * out: writes JSON directly into a growing buffer, without a tree. It must not know what it writes.
 *
 * Every function takes the member's key, which is NULL inside an array. Text is escaped; bytes that
 * are not UTF-8 become U+FFFD. If memory runs out, the arena has failed and nothing more is
 * written.
 */
#ifndef PATTERND_JSON_OUT_H
#define PATTERND_JSON_OUT_H

#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

struct json_out {
	struct arena *arena; /* (ref) owns `at` */
	char *at;
	size_t len;
	size_t size;
	bool broken; /* out_raw was given text that is not JSON */
	bool comma;  /* the next value needs a comma before it */
	unsigned depth;
	char closers[32]; /* the characters that out_close will write, the innermost last */
};

void out_init(struct json_out *o, struct arena *arena, size_t first_size);

void out_int(struct json_out *o, const char *key, int64_t value);
void out_real(struct json_out *o, const char *key, double value); /* in the fewest digits that read back the same */
void out_bool(struct json_out *o, const char *key, bool value);
void out_null(struct json_out *o, const char *key);
void out_text(struct json_out *o, const char *key, struct text value);   /* an absent text becomes null */
void out_base64(struct json_out *o, const char *key, struct text bytes); /* RFC 4648 section 4, with padding */
void out_string(struct json_out *o, const char *key, const char *value);
/*
 * Writes JSON unchanged. Sets `broken` if it is not JSON: stored values may have been changed in
 * Redis.
 */
void out_raw(struct json_out *o, const char *key, struct text json);
/* Write null for a text that is empty or absent. */
void out_text_or_null(struct json_out *o, const char *key, struct text value);
void out_raw_or_null(struct json_out *o, const char *key, struct text json);
void out_int_or_null(struct json_out *o, const char *key, bool has, int64_t value);
void out_key(struct json_out *o, struct text key); /* writes a key that is not a constant; its value has key NULL */

void out_object(struct json_out *o, const char *key);
void out_array(struct json_out *o, const char *key);
void out_close(struct json_out *o); /* ends the innermost object or array */
void out_newline(struct json_out *o);

/* Returns all that was written; absent if memory ran out. */
struct text out_all(struct json_out *o);

#endif
