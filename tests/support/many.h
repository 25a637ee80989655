/* many: makes bodies with many items that differ only by a number. */
#ifndef TEST_MANY_H
#define TEST_MANY_H

/*
 * Returns `head`, `count` items with commas between them, and `tail`. An item is `lead`, its number
 * and `trail`; the numbers begin at `from`. The text lives until the next call.
 */
const char *many(const char *head, const char *lead, int from, int count, const char *trail, const char *tail);

#endif
