/* new_token: see new_token.h. The parser of the file decides what a line may have. */
#include "access/new_token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/token_file.h"
#include "core/digest.h"
#include "core/hex.h"

enum { TOKEN_DIGITS = 64, WHY_BYTES = 1024, EXIT_REFUSED = 2 };

static const char flag[] = "--new-token";

/* The arguments, which begin at the label. */
struct wish {
	const char *label;
	char **scopes; /* ended by NULL */
};

static bool is_flag(const char *argument)
{
	size_t len = sizeof(flag) - 1;

	return strncmp(argument, flag, len) == 0 && (argument[len] == '\0' || argument[len] == '=');
}

bool new_token_requested(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (is_flag(argv[i]))
			return true;
	return false;
}

static bool refuse(const char *why)
{
	fprintf(stderr, "patternd: %s\n", why);
	return false;
}

static bool read_arguments(char **argv, struct wish *wish)
{
	if (!is_flag(argv[1]))
		return refuse("--new-token must be the first argument; it takes no other option");
	bool has_value = argv[1][sizeof(flag) - 1] == '=';
	wish->label = has_value ? argv[1] + sizeof(flag) : argv[2];
	wish->scopes = argv + (has_value ? 2 : 3);
	if (wish->label && strncmp(wish->label, "--", 2) != 0)
		return true;
	return refuse("--new-token needs a label and scopes, such as --new-token 'order worker' 'locks:*'");
}

/* Returns "<SHA-256 of the token> <scope>... # <label>"; absent if memory is short. */
static struct text write_line(struct arena *arena, const struct wish *wish, const char *token)
{
	unsigned char digest[DIGEST_BYTES];
	char hex[2 * DIGEST_BYTES + 1];

	digest_sha256(text_of(token), digest);
	hex_write(digest, sizeof(digest), hex);
	struct text line = arena_printf(arena, "%s", hex);
	for (char **scope = wish->scopes; *scope && line.at; scope++)
		line = arena_printf(arena, "%s %s", line.at, *scope);
	return line.at ? arena_printf(arena, "%s # %s", line.at, wish->label) : line;
}

/* Checks that the file would read this line as it is meant. */
static bool check_line(struct text line, const struct wish *wish)
{
	char why[WHY_BYTES];
	bool ok = true;

	if (memchr(line.at, '\n', line.len))
		return refuse("--new-token: there is a line end in the label or a scope; in a name write %0A");
	struct token_file *read = token_file_read_line(flag, line, why, sizeof(why));
	if (!read)
		return refuse(why);
	struct text label = read->entries[0].label;
	if (!label.at)
		ok = refuse("--new-token: the label is empty; it names the caller in the log");
	else if (label.len > strlen(wish->label))
		ok = refuse("--new-token: a # begins the label; in a scope write %23 for one that belongs to a name");
	token_file_free(read);
	return ok;
}

/* The token is shown only after its line was written: no token is in use that has no line. */
static int print(struct text line, const char *token)
{
	if (printf("%s\n", line.at) < 0 || fflush(stdout) != 0) {
		fprintf(stderr, "patternd: --new-token: cannot write the line: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	fprintf(stderr, "%s\n", token);
	return EXIT_SUCCESS;
}

int new_token_run(char **argv)
{
	struct arena arena = { 0 };
	char token[TOKEN_DIGITS + 1];
	struct wish wish;
	int status = EXIT_REFUSED;

	if (!read_arguments(argv, &wish))
		return EXIT_REFUSED;
	hex_random(token, TOKEN_DIGITS);
	struct text line = write_line(&arena, &wish, token);
	if (!line.at)
		refuse("--new-token: out of memory");
	else if (check_line(line, &wish))
		status = print(line, token);
	arena_free(&arena);
	return status;
}
