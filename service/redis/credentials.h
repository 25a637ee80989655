/*
 * credentials: what the daemon presents to Redis: the password, and for rediss:// the certificates.
 * Owns what the files contain.
 *
 * The files are read at start, on SIGHUP, and before a retry at a server that rejected them. A file
 * that cannot be read changes nothing. It must not know connections.
 */
#ifndef PATTERND_REDIS_CREDENTIALS_H
#define PATTERND_REDIS_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

struct redis_url;
struct tls_session;

/*
 * Reads the files that the options name. False: one line on stderr gives the reason. `url` is
 * the URL of --redis.
 */
bool credentials_open(const char *url);
void credentials_close(void);

/*
 * The password for a server. For --redis and its replicas: the file's, else the URL's. For
 * --lock-quorum: the URL's, else the file's. For a Sentinel: from --sentinel-password-file. "" when
 * there is none.
 */
const char *credentials_password(const struct redis_url *url);

/*
 * True for the servers of --redis that take all calls. They get the same credentials, so one that
 * rejects them holds up the attempts at the others. A replica that is only read from does not.
 */
bool credentials_are_shared(const struct redis_url *url);

/*
 * Changes when the credentials may have changed: a server that rejected an older version may be
 * tried at once.
 */
unsigned credentials_version(void);

/* Returns a new TLS session over a socket to `host`; NULL without memory. Only for rediss://. */
struct tls_session *credentials_tls_session(int fd, const char *host);

/*
 * Reads the files again. False: they cannot be used; this is logged, and the previous credentials
 * stay in use.
 */
bool credentials_reread(void);

/* True when any credentials come from a file. */
bool credentials_have_files(void);

/*
 * A server that rejects the password is tried by one connection at a time, every 5 s: more attempts
 * may lock the account and fill the server's log.
 *
 * credentials_rejected: the server answered `why`. credentials_accepted: it accepted them; true
 * when it had rejected them before. credentials_wait_us: how long to wait before an attempt; 0
 * permits one, after the files were read again. credentials_rejection: the latest `why`.
 */
void credentials_rejected(const char *why);
const char *credentials_rejection(void);
bool credentials_accepted(void);
int64_t credentials_wait_us(void);

#endif
