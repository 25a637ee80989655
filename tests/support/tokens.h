/*
 * tokens: lines for the file of --tokens, and the header that presents one.
 *
 *	FILE *out = fopen(path, "w");
 *	token_print(out, "secret", "locks:* queues:orders:receive # worker");
 *	a = http(client, "GET", "/locks/a", NULL, AUTHORIZATION("secret"));
 */
#ifndef TEST_TOKENS_H
#define TEST_TOKENS_H

#include <stdio.h>

#define AUTHORIZATION(token) "Authorization: Bearer " token

/* Prints one line: the token's SHA-256, then `scopes`. */
void token_print(FILE *out, const char *token, const char *scopes);

/*
 * Makes a file from pairs of a token and its scopes, ended by NULL. The path lives until the next
 * file is made, the file until the program ends.
 */
#define tokens_file(...) tokens_file_with(__VA_ARGS__, (const char *)NULL)
const char *tokens_file_with(const char *token, ...) __attribute__((sentinel));

/* Makes such a file with any text. */
const char *text_file(const char *text);

#endif
