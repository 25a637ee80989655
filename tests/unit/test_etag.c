/*
 * Tests of entity tags: which values If-Match and If-None-Match may have, and which tags are
 * compared.
 */
#include "request/etag.h"
#include "test.h"

static struct arena arena;

static int open_arena(void **state)
{
	return arena_new(1, &arena) && state ? 0 : -1;
}

static int free_arena(void **state)
{
	arena_free(&arena);
	return 0;
}

SUITE(.before = open_arena, .after = free_arena);

TEST(lists_are_taken_apart)
{
	static const struct {
		const char *header, *strong, *weak; /* NULL: malformed */
	} rows[] = {
		{ "*", "*", "*" },
		{ "\"a\"", " a ", " a " },
		{ "\"\"", "  ", "  " },
		{ "\"*\"", " * ", " * " }, /* a tag like any other */
		{ "\"a\",\"b\"", " a  b ", " a  b " },
		{ " \"a\" ,\t\"b\" ", " a  b ", " a  b " },
		{ ",, \"a\",,\"b\",", " a  b ", " a  b " }, /* RFC 9110 section 5.6.1 */
		{ "\"a,b\", \"c\\\"", " a,b  c\\ ", " a,b  c\\ " },
		{ "\"\xc3\xa9\xff\"", " \xc3\xa9\xff ", " \xc3\xa9\xff " },
		{ "W/\"a\"", " ", " a " },
		{ "W/\"a\", \"b\"", " b ", " a  b " },
		{ "W/\"\"", " ", "  " },
		{ "\"W/a\"", " W/a ", " W/a " },
		{ "", NULL, NULL },
		{ " ", NULL, NULL },
		{ ",", NULL, NULL },
		{ "a", NULL, NULL },
		{ "\"a", NULL, NULL },
		{ "a\"", NULL, NULL },
		{ "\"", NULL, NULL },
		{ "W/", NULL, NULL },
		{ "W/a", NULL, NULL },
		{ "w/\"a\"", NULL, NULL },
		{ "W /\"a\"", NULL, NULL },
		{ "W/ \"a\"", NULL, NULL },
		{ "\"a\" \"b\"", NULL, NULL },
		{ "\"a\"\"b\"", NULL, NULL },
		{ "\"a b\"", NULL, NULL },
		{ "\"a\x7f\"", NULL, NULL },
		{ "\"a\";q=1", NULL, NULL },
		{ "*, \"a\"", NULL, NULL },
		{ "\"a\", *", NULL, NULL },
		{ "**", NULL, NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *const wanted[] = { [ETAG_STRONG] = rows[i].strong, [ETAG_WEAK] = rows[i].weak };
		for (enum etag_comparison c = ETAG_STRONG; c <= ETAG_WEAK; c++) {
			struct text got = etag_list(&arena, text_of(rows[i].header), c);
			if (wanted[c] ? !text_is(got, wanted[c]) : got.at != NULL)
				fail_msg("'%s' is '%s', not '%s'", rows[i].header, got.at, wanted[c]);
		}
	}
	assert_true(text_is(etag_list(&arena, (struct text){ 0 }, ETAG_STRONG), ""));
}
