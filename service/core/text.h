/*
 * text: bytes with a length, mostly in a request's arena, which the text does not own; and the
 * checks that every string from outside must pass. Pure.
 *
 * `at` is NULL for "absent". Otherwise at[len] is a NUL byte, so that a text without inner NULs can
 * be passed to functions of C.
 */
#ifndef PATTERND_TEXT_H
#define PATTERND_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
	const char *at;
	size_t len;
};

/* A text and its name. */
struct text_pair {
	struct text key, value;
};
struct text_pairs {
	size_t count;
	struct text_pair *items;
};

#define TEXT(literal) ((struct text){ (literal), sizeof(literal) - 1 })

static inline struct text text_of(const char *s)
{
	return (struct text){ s, s ? strlen(s) : 0 };
}

static inline bool text_is(struct text t, const char *s)
{
	return t.at && t.len == strlen(s) && memcmp(t.at, s, t.len) == 0;
}

static inline bool text_equal(struct text a, struct text b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/*
 * Cuts the bytes before `stop` off *rest, with `stop`, and returns them. After the last piece *rest
 * is absent.
 */
struct text text_cut(struct text *rest, char stop);

/* Returns the text without blanks, tabs and line breaks at both ends. */
struct text text_trimmed(struct text t);

/* Returns the value of one to five digits, 0 to 65535, such as a port; -1 for any other text. */
int text_u16(struct text digits);

/* Writes a number in decimal digits into `buffer`. */
enum { TEXT_DIGITS = 24 };
struct text text_of_int(int64_t n, char buffer[TEXT_DIGITS]);

/* Writes a finite number in the fewest digits that read back the same. */
enum { TEXT_REAL = 32 };
struct text text_of_real(double value, char buffer[TEXT_REAL]);

/*
 * Writes a number for messages: at most 10 significant digits, and no exponent unless the number is
 * very large or very small. Returns `buffer`.
 */
enum { TEXT_PLAIN = 32 };
const char *text_plain_real(double value, char buffer[TEXT_PLAIN]);

/*
 * Returns the number of bytes of the first character, or 0 if it is not well-formed UTF-8. `t` is
 * not empty.
 */
size_t text_utf8_char(struct text t);

/* Returns true if the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool text_is_utf8(struct text t);

/* Returns true if there is a control character: U+0000 to U+001F, U+007F to U+009F. */
bool text_has_control(struct text t);

#endif
