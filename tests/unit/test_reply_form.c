/*
 * Tests of the forms of replies: each form matches the replies that it describes, and no others.
 */
#include "redis/reply_form.h"
#include "redis/reply_reader.h"
#include "test.h"

/*
 * Encodes words in RESP. "[" and "]" enclose an array, "~" is nil, digits are an integer. Other
 * words are texts, and so are digits after a quote ('). Returns the rest after the last word, or
 * after a "]".
 */
static const char *encode(const char *words, char *out, size_t *items)
{
	char word[40], inner[400];

	*out = '\0';
	for (*items = 0; sscanf(words, "%39s", word) == 1; ++*items) {
		char *to = out + strlen(out);
		size_t count = 0;
		words = strstr(words, word) + strlen(word);
		if (*word == ']')
			return words;
		if (*word == '[') {
			words = encode(words, inner, &count);
			sprintf(to, "*%zu\r\n%s", count, inner);
		} else if (*word == '~') {
			strcpy(to, "$-1\r\n");
		} else if (strspn(word, "-0123456789") == strlen(word)) {
			sprintf(to, ":%s\r\n", word);
		} else {
			const char *text = word + (*word == '\'');
			sprintf(to, "$%zu\r\n%s\r\n", strlen(text), text);
		}
	}
	return words;
}

static bool with_reply(const char *words, bool (*judge)(const struct reply *r, const void *form), const void *form)
{
	struct reply_reader *reader = reply_reader_new(1 << 20);
	const struct reply *r = NULL;
	const char *why = NULL;
	char bytes[1000];
	size_t items;

	encode(words, bytes, &items);
	assert_int_equal(items, 1);
	assert_true(reply_reader_feed(reader, bytes, strlen(bytes)));
	assert_true(reply_reader_next(reader, &r, &why) && r);
	bool fits = judge(r, form);
	reply_reader_free(reader);
	return fits;
}

static bool fits(const struct reply *r, const void *form)
{
	return reply_form_fits(r, form);
}

static bool matches(const struct reply *r, const void *forms)
{
	return reply_form_of(r, forms);
}

TEST(an_item_fits_its_form)
{
	static const struct {
		const char *form, *words;
		bool fits;
	} rows[] = {
		{ "i", "5", true },
		{ "i", "'5", true }, /* digits */
		{ "i", "'-9223372036854775808", true },
		{ "i", "5x", false },
		{ "i", "'1.5", false },
		{ "i", "~", false },
		{ "i", "[ ]", false },
		{ "r", "5", true },
		{ "r", "'1.5", true },
		{ "r", "'1e3", true },
		{ "r", "inf", true },
		{ "r", "one", false },
		{ "i", "'-", false },
		{ "t", "one", true },
		{ "t", "5", false },
		{ "t", "~", false },
		{ "t", "[ one ]", false },
		{ "()", "[ ]", true },
		{ "()", "[ 1 ]", false },
		{ "()", "1", false },
		{ "(it)", "[ 1 a ]", true },
		{ "(it)", "[ 1 ]", false },
		{ "(it)", "[ 1 a a ]", false },
		{ "(it)", "[ a 1 ]", false },
		{ "(*t)", "[ ]", true },
		{ "(*t)", "[ a b c ]", true },
		{ "(*t)", "[ a 2 c ]", false },
		{ "(i*tr)", "[ 1 ]", true },
		{ "(i*tr)", "[ 1 a 2 b 3 ]", true },
		{ "(i*tr)", "[ 1 a 2 b ]", false },
		{ "(i*tr)", "[ ]", false },
		{ "(t(*t))", "[ a [ b c ] ]", true },
		{ "(t(*t))", "[ a b c ]", false },
		{ "(*(tt(i)))", "[ [ a b [ 1 ] ] [ c d [ 2 ] ] ]", true },
		{ "(*(tt(i)))", "[ [ a b [ 1 ] ] [ c d [ x ] ] ]", false },
		{ "((i)t)", "[ [ x ] a ]", false },
		{ "((i)t)", "[ 5 a ]", false },
		{ "((i(t))ti)", "[ [ 5 [ a ] ] b 6 ]", true },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (with_reply(rows[i].words, fits, rows[i].form) != rows[i].fits)
			fail_msg("'%s' as %s", rows[i].words, rows[i].form);
}

TEST(the_outcome_chooses_the_form)
{
	static const struct reply_form forms[] = {
		{ 1, 1, "it", false },
		{ 2, INT64_MAX, "", true },
		{ 0, 0, "*i", false },
		{ INT64_MIN, -1, "t", false },
		{ 0 },
	};
	static const struct {
		const char *words;
		bool matches;
	} rows[] = {
		{ "[ 1 1700000000000 5 a ]", true },
		{ "[ 1 1700000000000 5 ]", false },
		{ "[ 1 1700000000000 ]", false },
		{ "[ 2 1700000000000 ]", true },
		{ "[ 77 1700000000000 ]", true },
		{ "[ 77 1700000000000 1 ]", false },
		{ "[ 0 1700000000000 ]", true },
		{ "[ 0 1700000000000 1 2 3 ]", true },
		{ "[ -9 1700000000000 a ]", true },
		{ "[ -9 1700000000000 5 ]", false },
		{ "[ '1 1700000000000 5 a ]", false }, /* the outcome and the instant are integers */
		{ "[ 1 '1700000000000 5 a ]", false },
		{ "[ 1 -1 5 a ]", false },
		{ "[ ~ 1700000000000 5 a ]", false },
		{ "[ 0 ~ ]", false },
		{ "[ 0 ]", false },
		{ "[ ]", false },
		{ "0", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (with_reply(rows[i].words, matches, forms) != rows[i].matches)
			fail_msg("'%s'", rows[i].words);
}
