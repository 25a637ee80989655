/* tokens: see tokens.h. */
#include "tokens.h"

#include <openssl/sha.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "proc.h"

void token_print(FILE *out, const char *token, const char *scopes)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)token, strlen(token), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		fprintf(out, "%02x", digest[i]);
	fprintf(out, " %s\n", scopes);
}

/* A new file, its path in `path`. */
static FILE *new_file(char **path)
{
	if (asprintf(path, "%s/tokens", temp_dir()) < 0)
		fail_msg("no memory");
	FILE *out = fopen(*path, "we");
	if (!out)
		fail_msg("cannot write %s", *path);
	fchmod(fileno(out), 0600);
	return out;
}

const char *tokens_file_with(const char *token, ...)
{
	static char *path; /* of the newest; those before are still pointed to by whoever asked */
	FILE *out = new_file(&path);
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
	static char *path;
	FILE *out = new_file(&path);

	fputs(text, out);
	fclose(out);
	return path;
}
