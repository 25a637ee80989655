/*
 * The file of --tokens. An accepted file has one token for each line that is neither empty nor a
 * comment, and no two tokens are alike. Each token has a scope. A scope of one name is the same
 * after it was written and read again. A refused file gets the line and the reason.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "access/token_file.h"
#include "fuzz.h"
#include "world.h"

static size_t lines_that_count(const uint8_t *data, size_t size)
{
	size_t count = 0;

	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t next = end ? (size_t)(end - data) + 1 : size;
		while (at < next && (data[at] == '\0' || strchr(" \t\r", data[at])))
			at++;
		count += at < next && data[at] != '\n' && data[at] != '#';
		at = next;
	}
	return count;
}

/* A scope that covers all names covers each name, and it covers only names of its own kind. */
static void check_scope(const struct scope *s)
{
	struct scope_need need = { .kind = TEXT("locks"), .name = TEXT("a:b*%"), .action = TEXT("acquire") };
	bool covers = scope_covers(s, &need);

	CHECK(!covers || !s->kind.at || text_equal(s->kind, need.kind));
	CHECK(!covers || scope_covers_some(s, &need));
	CHECK(covers || !scope_covers_all(s, &need));
	if (s->name.at && !s->is_prefix && s->kind.at && s->action.at && !s->whole_kind) {
		need = (struct scope_need){ s->kind, s->name, s->action };
		CHECK(scope_covers(s, &need));
		struct arena arena = { 0 };
		struct scope again;
		struct text written = scope_written(&arena, &need);
		CHECK(written.at && scope_parse(&arena, written, &again) == NULL);
		CHECK(text_equal(again.name, s->name) && text_equal(again.kind, s->kind) &&
		      text_equal(again.action, s->action) && !again.is_prefix);
		arena_free(&arena);
	}
}

static void check_table(const struct token_file *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct token_file_entry *t = &table->entries[i];
		CHECK(t->scope_count > 0 && t->label.len <= 64 && !text_has_control(t->label));
		for (size_t k = 0; k < t->scope_count; k++)
			check_scope(&t->scopes[k]);
		for (size_t k = 0; k < i && i < 64; k++)
			CHECK(memcmp(table->digests[i], table->digests[k], TOKEN_DIGEST_BYTES) != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], why[512] = "";
	int fd = memfd_create("tokens", MFD_CLOEXEC);

	world_open((const char *const[]){ "--log-level", "error", NULL });
	CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct token_file *table = token_file_read(path, why, sizeof(why));
	close(fd);
	if (!table) {
		CHECK(strncmp(why, path, strlen(path)) == 0 && !strchr(why, '\n'));
		return 0;
	}
	CHECK(table->count == lines_that_count(data, size) && table->count <= 4096);
	check_table(table);
	token_file_free(table);
	return 0;
}
