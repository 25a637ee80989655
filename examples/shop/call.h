/* How shop.c asks patternd. */
#include <jansson.h>
#include <stdbool.h>

struct answer {
	json_t *json;             /* borrowed until the next call; null where there is none (204) */
	bool refused;             /* it is a problem that may be */
	unsigned int retry_after; /* seconds to wait then */
};

/*
 * Sends what json_pack makes of `format` and what follows it, or no body when that is null. `token`
 * is a lock's; it and `may_be` may be null. A problem whose code is among the words of `may_be` is
 * an answer, too; any other ends the program with a message.
 *
 * While patternd or its Redis is away (503: nothing happened; 504, or no answer: unknown) it
 * asks again. By the same Idempotency-Key what happened already does not happen twice: the first
 * answer comes again.
 */
struct answer call(const char *method, const char *path, const char *token, const char *may_be,
		   const char *format, ...);

static inline const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}
