/*
 * token_file: reads the file of --tokens. It has the SHA-256 of each token, never the token. It
 * must not know requests.
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
	struct arena arena; /* has all memory of the file, this struct included */
	size_t count;
	unsigned char (*digests)[TOKEN_DIGEST_BYTES]; /* digests[i] belongs to entries[i] */
	struct token_file_entry *entries;
};

/* Reads a file. NULL: `why` has the file, the line and the fault. */
struct token_file *token_file_read(const char *path, char *why, size_t size);

/*
 * Reads one line, as a file would that has only this line. NULL: `why` has `name` and the fault.
 */
struct token_file *token_file_read_line(const char *name, struct text line, char *why, size_t size);
void token_file_free(struct token_file *table);

#endif
