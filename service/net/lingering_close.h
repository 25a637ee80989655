/*
 * lingering_close: closes a connection whose client may still be sending (RFC 9112, section 9.6).
 * It must not know HTTP.
 *
 * If the connection were closed at once, bytes that still arrive would reset it. A client that
 * sends everything before it reads would then never see why it was rejected.
 */
#ifndef PATTERND_LINGERING_CLOSE_H
#define PATTERND_LINGERING_CLOSE_H

/*
 * How many may be open at once. Such a connection does not count as a client any more, and has its
 * own descriptor.
 */
enum { LINGERING_CLOSES_MAX = 32 };

/*
 * Call it before closing the socket. Reads and discards what arrives until the client closes, for
 * at most a second and a mebibyte.
 */
void lingering_close(int fd);

#endif
