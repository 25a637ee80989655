/* token_file: see token_file.h. A file with an invalid line is rejected as a whole. */
#include "access/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hex.h"
#include "process/log.h"
#include "request/operation.h"

enum { MAX_FILE_BYTES = 8 * 1024 * 1024, MAX_TOKENS = 4096, MAX_LABEL_BYTES = 64, LIST_BYTES = 400 };

/* The file that is being read. */
struct token_file_reader {
	const char *path;
	int line;
	struct token_file *tokens;
	char *why;
	size_t why_size;
};

static bool refuse(const struct token_file_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const struct token_file_reader *r, const char *format, ...)
{
	va_list args;
	int n = r->line ? snprintf(r->why, r->why_size, "%s:%d: ", r->path, r->line)
			: snprintf(r->why, r->why_size, "%s: ", r->path);

	va_start(args, format);
	if (n > 0 && (size_t)n < r->why_size)
		vsnprintf(r->why + n, r->why_size - (size_t)n, format, args);
	va_end(args);
	return false;
}

/* ---- A line ---- */

static bool parse_digest(struct text word, unsigned char out[TOKEN_DIGEST_BYTES])
{
	if (word.len != 2 * (size_t)TOKEN_DIGEST_BYTES)
		return false;
	for (size_t i = 0; i < TOKEN_DIGEST_BYTES; i++) {
		int high = hex_value(word.at[2 * i]), low = hex_value(word.at[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

/* Returns the next word of a line, empty at its end. */
static struct text next_word(struct text *rest)
{
	size_t blanks = 0, len = 0;

	while (blanks < rest->len && strchr(" \t\r", rest->at[blanks]))
		blanks++;
	while (blanks + len < rest->len && !strchr(" \t\r", rest->at[blanks + len]))
		len++;
	struct text word = { rest->at + blanks, len };
	rest->at += blanks + len;
	rest->len -= blanks + len;
	return word;
}

static void add_once(char list[LIST_BYTES], const char *item)
{
	size_t len = strlen(list), n = strlen(item);

	for (const char *at = list; (at = strstr(at, item)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == '\0' || at[n] == ','))
			return;
	snprintf(list + len, LIST_BYTES - len, "%s%s", len ? ", " : "", item);
}

/* Rejects a scope that no operation needs: it is more likely a typing error than intended. */
static bool check_use(const struct token_file_reader *r, const struct scope *s, struct text written)
{
	char kinds[LIST_BYTES] = "", forms[LIST_BYTES] = "", form[96];

	for (size_t i = 0; i < operation_count; i++)
		for (size_t k = 0; k < operations[i].scope_count; k++) {
			const struct needed_scope *n = &operations[i].scopes[k];
			struct text name = n->field >= 0 ? TEXT("NAME") : (struct text){ 0 };
			if (scope_covers_some(s, &(struct scope_need){ text_of(n->kind), name, text_of(n->action) }))
				return true;
			add_once(kinds, n->kind);
			snprintf(form, sizeof(form), "%s:%s%s", n->kind, n->field >= 0 ? "NAME:" : "", n->action);
			if (text_is(s->kind, n->kind))
				add_once(forms, form);
		}
	if (*forms)
		return refuse(r, "nothing needs the scope '%.*s'; there are %s, and NAME or the end may be *",
			      (int)written.len, written.at, forms);
	return refuse(r, "nothing needs the scope '%.*s'; it starts with one of %s", (int)written.len, written.at,
		      kinds);
}

static bool add_scope(const struct token_file_reader *r, struct token_file_entry *t, struct text word)
{
	struct arena *arena = &r->tokens->arena;
	struct scope *scopes =
		arena_grow(arena, t->scopes, t->scope_count * sizeof(*scopes), (t->scope_count + 1) * sizeof(*scopes));
	struct scope parsed;

	if (!scopes)
		return refuse(r, "out of memory");
	const char *flaw = scope_parse(arena, word, &parsed);
	if (flaw)
		return refuse(r, "the scope '%.*s': %s", (int)word.len, word.at, flaw);
	t->scopes = scopes;
	t->scopes[t->scope_count++] = parsed;
	return check_use(r, &parsed, word);
}

static bool set_label(const struct token_file_reader *r, struct token_file_entry *t, struct text rest)
{
	while (rest.len && strchr(" \t#", *rest.at)) {
		rest.at++;
		rest.len--;
	}
	while (rest.len && strchr(" \t\r", rest.at[rest.len - 1]))
		rest.len--;
	if (rest.len > MAX_LABEL_BYTES || text_has_control(rest) || !text_is_utf8(rest))
		return refuse(r, "the label must have at most %d bytes of plain text", MAX_LABEL_BYTES);
	if (rest.len)
		t->label = arena_copy(&r->tokens->arena, rest.at, rest.len);
	return true;
}

static bool read_line(const struct token_file_reader *r, struct text line)
{
	struct token_file *table = r->tokens;
	struct token_file_entry *t = &table->entries[table->count];
	struct text rest = line, word = next_word(&rest);

	if (word.len == 0 || *word.at == '#')
		return true;
	if (memchr(line.at, '\0', line.len))
		return refuse(r, "there is a NUL byte in the line");
	if (table->count == MAX_TOKENS)
		return refuse(r, "the file has more than %d tokens", MAX_TOKENS);
	if (!parse_digest(word, table->digests[table->count]))
		return refuse(r, "the line must start with the 64 hex digits of a token's SHA-256");
	*t = (struct token_file_entry){ .line = r->line };
	for (word = next_word(&rest); word.len && *word.at != '#'; word = next_word(&rest))
		if (!add_scope(r, t, word))
			return false;
	if (t->scope_count == 0)
		return refuse(r, "the token has no scope; '*' allows everything");
	table->count++;
	if (!word.len)
		return true;
	return set_label(r, t, (struct text){ word.at, (size_t)(line.at + line.len - word.at) });
}

/* ---- The file ---- */

static const struct token_file *sorted; /* qsort passes no context */

static int compare(const void *a, const void *b)
{
	return memcmp(sorted->digests[*(const size_t *)a], sorted->digests[*(const size_t *)b], TOKEN_DIGEST_BYTES);
}

/* Rejects a token that is on two lines, because it would be unclear which line counts. */
static bool check_distinct(struct token_file_reader *r)
{
	struct token_file *table = r->tokens;
	size_t *order = arena_alloc(&table->arena, table->count * sizeof(*order));

	if (!order)
		return refuse(r, "out of memory");
	for (size_t i = 0; i < table->count; i++)
		order[i] = i;
	sorted = table;
	qsort(order, table->count, sizeof(*order), compare);
	for (size_t i = 1; i < table->count; i++) {
		if (compare(&order[i - 1], &order[i]) != 0)
			continue;
		int one = table->entries[order[i - 1]].line, other = table->entries[order[i]].line;
		r->line = one > other ? one : other;
		return refuse(r, "line %d already has this token", one > other ? other : one);
	}
	return true;
}

/* Returns the whole file, in the tokens' arena; absent if it was rejected. */
static struct text read_all(const struct token_file_reader *r, int fd)
{
	struct stat s;

	if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
		refuse(r, "it is not a regular file");
		return (struct text){ 0 };
	}
	if (s.st_mode & S_IROTH)
		log_event(LOG_WARN, "tokens_readable", "every user of this machine can read %s: chmod o-r", r->path);
	if (s.st_size > MAX_FILE_BYTES) {
		refuse(r, "it is larger than %d bytes", MAX_FILE_BYTES);
		return (struct text){ 0 };
	}
	size_t size = (size_t)s.st_size;
	char *at = arena_alloc(&r->tokens->arena, size + 1);
	ssize_t n = at ? read(fd, at, size) : -1;
	if (n < 0)
		refuse(r, "cannot read it: %s", strerror(errno));
	return n < 0 ? (struct text){ 0 } : (struct text){ at, (size_t)n };
}

static bool make_room(const struct token_file_reader *r, size_t lines)
{
	size_t most = lines < MAX_TOKENS + 1 ? lines : MAX_TOKENS + 1;

	r->tokens->digests = arena_alloc(&r->tokens->arena, most * sizeof(*r->tokens->digests));
	r->tokens->entries = arena_alloc(&r->tokens->arena, most * sizeof(*r->tokens->entries));
	return (r->tokens->digests && r->tokens->entries) || refuse(r, "out of memory");
}

static bool read_lines(struct token_file_reader *r, struct text all)
{
	size_t lines = 1;

	for (size_t i = 0; i < all.len; i++)
		lines += all.at[i] == '\n';
	if (!make_room(r, lines))
		return false;
	for (struct text rest = all; rest.len;) {
		r->line++;
		if (!read_line(r, text_cut(&rest, '\n')))
			return false;
	}
	if (r->tokens->count)
		return check_distinct(r);
	r->line = 0;
	return refuse(r, "it holds no token, so every request would be rejected");
}

/* Returns an empty table; NULL if memory is short. */
static struct token_file *new_table(void)
{
	struct arena arena;
	struct token_file *table = arena_new(sizeof(*table), &arena);

	if (table)
		table->arena = arena;
	return table;
}

struct token_file *token_file_read(const char *path, char *why, size_t size)
{
	struct token_file_reader r = { .path = path, .why = why, .why_size = size };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe would block */

	r.tokens = new_table();
	if (!r.tokens || fd < 0) {
		refuse(&r, "cannot read it: %s", strerror(errno));
	} else {
		struct text all = read_all(&r, fd);
		if (all.at && read_lines(&r, all)) {
			close(fd);
			return r.tokens;
		}
	}
	if (fd >= 0)
		close(fd);
	if (r.tokens)
		token_file_free(r.tokens);
	return NULL;
}

struct token_file *token_file_read_line(const char *name, struct text line, char *why, size_t size)
{
	struct token_file_reader r = { .path = name, .why = why, .why_size = size, .tokens = new_table() };

	if (!r.tokens)
		refuse(&r, "out of memory");
	else if (make_room(&r, 1) && read_line(&r, line))
		return r.tokens;
	if (r.tokens)
		token_file_free(r.tokens);
	return NULL;
}

void token_file_free(struct token_file *table)
{
	struct arena arena = table->arena; /* `table` itself is in the arena */

	arena_free(&arena);
}
