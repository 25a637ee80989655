/*
 * credentials: what the daemon presents to Redis: the password, and for rediss:// the certificates.
 * It owns the contents of these files. It must not know connections.
 *
 * The files are read at start, on SIGHUP, and before a retry at a server that rejected them. If a
 * file cannot be read, the previous contents stay in use.
 */
#ifndef PATTERND_REDIS_CREDENTIALS_H
#define PATTERND_REDIS_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

struct redis_url;
struct tls_session;

/*
 * Reads the files that the options name. `url` is the URL of --redis. Returns false after one line
 * on stderr.
 */
bool credentials_open(const char *url);
void credentials_close(void);

/*
 * Returns the password for a server, or "". For --redis and its replicas it is the file's, else the
 * URL's. For --lock-quorum it is the URL's, else the file's. For a Sentinel it comes from
 * --sentinel-password-file.
 */
const char *credentials_password(const struct redis_url *url);

/*
 * True for the servers of --redis that take all calls. They get the same credentials, so if one
 * rejects them, attempts at the others wait. A replica that is only read from does not count.
 */
bool credentials_are_shared(const struct redis_url *url);

/*
 * Returns true if a server may reject what another has rejected: they get the same user and
 * password, or the certificates of --redis-cert-file.
 */
bool credentials_are_same(const struct redis_url *a, const struct redis_url *b);

/*
 * Returns a number that changes when the credentials may have changed. A server that rejected an
 * older version may be tried at once.
 */
unsigned credentials_version(void);

/* Makes a TLS session over a socket to `host`, for rediss://. NULL: memory ran out. */
struct tls_session *credentials_tls_session(int fd, const char *host);

/*
 * Rereads the files. Returns false if they cannot be used; this is logged, and the previous
 * credentials stay in use.
 */
bool credentials_reread(void);

/* Returns true if any credentials come from a file. */
bool credentials_have_files(void);

/*
 * A server that rejects the password is tried by one connection at a time, every 5 s: more attempts
 * may lock the account, and fill the server's log.
 *
 * - credentials_rejected: the server answered `why`.
 * - credentials_accepted: the server accepted them. Returns true if it had rejected them before.
 * - credentials_wait_us: returns how long to wait before an attempt. 0 permits one, after the files
 *   were reread.
 * - credentials_rejection: returns the latest `why`.
 */
void credentials_rejected(const char *why);
const char *credentials_rejection(void);
bool credentials_accepted(void);
int64_t credentials_wait_us(void);

#endif
