/*
 * many: bodies of many items that differ by a number.
 */
#ifndef TEST_MANY_H
#define TEST_MANY_H

/*
 * `head`, then for each of `count` items from `from` on `lead`, its number, `trail`; then `tail`.
 * Until the next call.
 */
const char *many(const char *head, const char *lead, int from, int count, const char *trail, const char *tail);

#endif
