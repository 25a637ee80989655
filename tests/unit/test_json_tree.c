/* JSON tree: documents of our writer are read as what was meant, and leave again as the very bytes that came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json_out.h"
#include "json_tree.h"

static struct arena arena;
static struct json_out out;

/* A text of up to nine code points, as likely a quote or control as anything else. */
static struct text random_text(char bytes[40])
{
	static const char *const pieces[] = { "\"", "\\",   "\n",       "\x01",         "a",
					      "/",  "\x7f", "\xc2\x80", "\xe2\x80\xa8", "\xf4\x8f\xbf\xbf",
					      "0",  " " };
	size_t n = 0;

	for (int i = rand() % 10; i > 0; i--) {
		const char *piece = pieces[(size_t)rand() % (sizeof(pieces) / sizeof(pieces[0]))];
		memcpy(bytes + n, piece, strlen(piece));
		n += strlen(piece);
	}
	return (struct text){ bytes, n };
}

/* Writes a random value, and returns the tree that it should be read back as. */
static json_t *write_random(const char *key, int depth)
{
	char bytes[40], name[8];
	int kind = rand() % (depth < 6 ? 8 : 6);
	int64_t integer = ((int64_t)rand() << 22) - ((int64_t)1 << 51);
	double real = (double)(integer >> 12) + 0.625; /* never whole: a whole one would be read back as an integer */

	if (kind >= 6) {
		json_t *all = kind == 6 ? json_object() : json_array();
		(kind == 6 ? out_object : out_array)(&out, key);
		for (int i = rand() % 6; i > 0; i--) {
			snprintf(name, sizeof(name), "k%d", i);
			json_t *one = write_random(kind == 6 ? name : NULL, depth + 1);
			if (kind == 6)
				json_object_set_new(all, name, one);
			else
				json_array_append_new(all, one);
		}
		out_close(&out);
		return all;
	}
	struct text t = random_text(bytes);
	switch (kind) {
	case 0:
		out_int(&out, key, integer);
		return json_integer(integer);
	case 1:
		out_real(&out, key, real);
		return json_real(real);
	case 2:
		out_bool(&out, key, integer > 0);
		return json_boolean(integer > 0);
	case 3:
		out_null(&out, key);
		return json_null();
	default:
		out_text(&out, key, t);
		return json_stringn(t.at, t.len);
	}
}

static void random_documents(void **state)
{
	(void)state;
	char why[100];

	srand(4);
	for (int i = 0; i < 3000; i++) {
		out_init(&out, &arena, 8);
		json_t *wanted = json_object();
		out_object(&out, NULL);
		json_object_set_new(wanted, "it", write_random("it", 0));
		out_close(&out);
		struct text bytes = { out.at, out.len };
		json_t *got = json_tree_parse(&arena, bytes, why, sizeof(why));
		if (!got)
			fail_msg("document %d: %.*s: %s", i, (int)bytes.len, bytes.at, why);
		if (!json_equal(wanted, got))
			fail_msg("document %d: %.*s is not what was meant", i, (int)bytes.len, bytes.at);
		struct text again = json_tree_text(&arena, got);
		if (!text_equal(bytes, again))
			fail_msg("%.*s left as %.*s", (int)bytes.len, bytes.at, (int)again.len, again.at);
		json_decref(wanted);
		arena_free(&arena);
	}
	arena_forget_cache();
}

/* What a client sent leaves again as it was: no number loses a digit, no real becomes an integer. */
static void values_keep_their_form(void **state)
{
	(void)state;
	static const struct {
		struct text given;
		const char *wanted;
	} rows[] = {
		{ TEXT("{}"), "{}" },
		{ TEXT(" { \"b\" : [ ] ,\n\t\"a\":{} } "), "{\"b\":[],\"a\":{}}" }, /* in the order it came */
		{ TEXT("{\"a\":5,\"b\":5.0,\"c\":-0.0,\"d\":-0}"), "{\"a\":5,\"b\":5.0,\"c\":-0.0,\"d\":0}" },
		{ TEXT("{\"a\":0.1,\"b\":1e300,\"c\":1E2}"), "{\"a\":0.1,\"b\":1e+300,\"c\":100.0}" },
		{ TEXT("{\"a\":9223372036854775807,\"b\":-9223372036854775808}"),
		  "{\"a\":9223372036854775807,\"b\":-9223372036854775808}" },
		{ TEXT("{\"a\":9007199254740993,\"b\":9007199254740993.0}"),
		  "{\"a\":9007199254740993,\"b\":9007199254740992.0}" },
		{ TEXT("{\"a\":\"\\u0000\\ud83d\\ude00\\/\\b\"}"), "{\"a\":\"\\u0000\xf0\x9f\x98\x80/\\u0008\"}" },
		{ TEXT("{\"\\u00e9\\n\":[null,true,false]}"), "{\"\xc3\xa9\\n\":[null,true,false]}" },
	};
	char why[100];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *got = json_tree_parse(&arena, rows[i].given, why, sizeof(why));
		if (!got)
			fail_msg("%s: %s", rows[i].given.at, why);
		struct text again = json_tree_text(&arena, got);
		if (!text_is(again, rows[i].wanted))
			fail_msg("%s left as %.*s", rows[i].given.at, (int)again.len, again.at);
		arena_free(&arena);
	}
	arena_forget_cache();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_documents),
		cmocka_unit_test(values_keep_their_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
