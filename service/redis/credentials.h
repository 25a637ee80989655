/*
 * credentials: what the daemon shows Redis to be let in: the password, and for rediss:// the certificates. Owns what the files say.
 *
 * The files are read at start, again when told to, and again before a server is tried that refused what they said. What cannot be read
 * then changes nothing. Knows no connection.
 */
#ifndef PATTERND_REDIS_LOGIN_H
#define PATTERND_REDIS_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

struct redis_url;
struct tls_session;

/* Reads the files that the options name. False: one line on stderr says what is wrong. `url` as of --redis. */
bool credentials_open(const char *url);
void credentials_close(void);

/*
 * What a server is shown: of --redis the password of its file, else the URL's; a server of --lock-quorum its URL's, else that of the file; a
 * Sentinel that of --sentinel-password-file. "" when there is none.
 */
const char *credentials_password(const struct redis_url *url);

/* True when it is a server of --redis: all of those are shown the same. */
bool credentials_are_shared(const struct redis_url *url);

/* Counts how often what is shown may have changed: who was refused with what was shown before may try again at once. */
unsigned credentials_version(void);

/* TLS over a socket to `host`. Returns new; NULL without memory. Only for a URL that asks for TLS. */
struct tls_session *credentials_tls_session(int fd, const char *host);

/* The files are read again. False: they cannot be used; the log says why, and what was read before goes on to be shown. */
bool credentials_reread(void);

/* True when any of it comes from a file. */
bool credentials_have_files(void);

/*
 * A server that refuses the password is asked by one connection at a time, each 5 s: asking more often locks accounts and fills its log.
 * Refused: it was, and the server said so. Accepted: it was not; true when that is news. Wait: how long to wait before an attempt; 0 is leave
 * for one, and the files were read again for it. Refusal: what the server said last.
 */
void credentials_rejected(const char *why);
const char *credentials_rejection(void);
bool credentials_accepted(void);
int64_t credentials_wait_us(void);

#endif
