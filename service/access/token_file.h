/*
 * token_file: the file of --tokens. Holds the SHA-256 of each token, never the token.
 *
 *	# <SHA-256 of the token in hex> <scope>... [# label]
 *	2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b locks:* # worker
 */
#ifndef PATTERND_TOKEN_FILE_H
#define PATTERND_TOKEN_FILE_H

#include "access/scope.h"
#include "core/arena.h"

enum { TOKEN_DIGEST_BYTES = 32 };

struct token_file_entry {
	struct scope *scopes;
	size_t scope_count;
	struct text label; /* absent: none */
	int line;
};

struct token_file {
	struct arena arena; /* everything is in it, this struct too */
	size_t count;
	unsigned char (*digests)[TOKEN_DIGEST_BYTES]; /* of entries[i] */
	struct token_file_entry *entries;
};

/* Returns new; on failure NULL, and `why` names the file, the line and what is wrong. */
struct token_file *token_file_read(const char *path, char *why, size_t size);
void token_file_free(struct token_file *table);

#endif
