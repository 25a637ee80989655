/*
 * Tests of log lines in both formats: any text can be read back from its line. Each case runs in
 * its own process, because a process reads its options only once.
 */
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/config.h"
#include "process/log.h"
#include "test.h"

static char line[8192]; /* what the last child logged */

/* Logs an event in a child, with this message. */
static void log_in(const char *format, const char *message)
{
	static char *environment[] = { NULL };
	char *argv[] = { "patternd", "--log-format", (char *)(uintptr_t)format, NULL };
	FILE *to = tmpfile();

	assert_non_null(to);
	pid_t child = fork();
	if (child == 0) {
		dup2(fileno(to), 2);
		config_load(3, argv, environment);
		log_open();
		log_event(LOG_INFO, "event", "%s", message);
		log_flush();
		config_free();
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	rewind(to);
	size_t n = fread(line, 1, sizeof(line) - 1, to);
	line[n] = '\0';
	fclose(to);
	assert_int_equal(strcspn(line, "\n"), n - 1); /* one line */
}

TEST(text_is_logfmt)
{
	static const struct {
		const char *message, *written;
	} rows[] = {
		{ "plain", " message=plain\n" },
		{ "", " message=\"\"\n" },
		{ "two words", " message=\"two words\"\n" },
		{ "a=b", " message=\"a=b\"\n" },
		{ "say \"hi\"", " message=\"say \\\"hi\\\"\"\n" },
		{ "back\\slash", " message=\"back\\\\slash\"\n" },
		{ "x status=200\n2026 warn event", " message=\"x status=200\\u000a2026 warn event\"\n" },
		{ "bad\xff!", " message=\"bad\xef\xbf\xbd!\"\n" },
		{ "\xc3\xa4", " message=\"\xc3\xa4\"\n" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		log_in("text", rows[i].message);
		if (!strstr(line, rows[i].written))
			fail_msg("row %zu: not %s but %s", i, rows[i].written, line);
	}
}

TEST(json_holds_any_text)
{
	static const char *const messages[] = { "plain", "", "say \"hi\"\\", "line\nbreak\ttab\x01",
						"\xc3\xa4\xe2\x82\xac" };

	for (size_t i = 0; i < COUNT(messages); i++) {
		log_in("json", messages[i]);
		json_t *root = json_loads(line, 0, NULL);
		assert_non_null(root);
		assert_string_equal(json_string_value(json_object_get(root, "message")), messages[i]);
		json_decref(root);
	}
}

/* Escapes make a text longer. The text is cut, but never its quotes. */
TEST(long_text_is_cut)
{
	char message[1000];

	memset(message, '\x01', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	log_in("json", message);
	json_t *root = json_loads(line, 0, NULL);
	assert_non_null(root);
	assert_in_range(json_string_length(json_object_get(root, "message")), 300, 999);
	json_decref(root);
	log_in("text", message);
	assert_string_equal(line + strlen(line) - 2, "\"\n");
}
