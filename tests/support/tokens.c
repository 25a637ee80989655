#include "tokens.h"

#include <limits.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include "proc.h"
#include "test.h"

void token_print(FILE *out, const char *token, const char *scopes)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)token, strlen(token), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		fprintf(out, "%02x", digest[i]);
	fprintf(out, " %s\n", scopes);
}

static char path[PATH_MAX];

/* Makes a file that no other user can read. `path` gets its path. */
static FILE *new_file(void)
{
	snprintf(path, sizeof(path), "%s/tokens", temp_dir());
	FILE *out = fopen(path, "we");
	if (!out)
		fail_msg("cannot write %s", path);
	fchmod(fileno(out), 0600);
	return out;
}

const char *tokens_file_with(const char *token, ...)
{
	FILE *out = new_file();
	va_list rest;

	va_start(rest, token);
	for (; token; token = va_arg(rest, const char *))
		token_print(out, token, va_arg(rest, const char *));
	va_end(rest);
	fclose(out);
	return path;
}

const char *text_file(const char *text)
{
	FILE *out = new_file();

	fputs(text, out);
	fclose(out);
	return path;
}
