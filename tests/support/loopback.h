/*
 * loopback: TCP sockets on 127.0.0.1 for the other parts of the test support. They return -1
 * instead of failing the test.
 */
#ifndef TEST_LOOPBACK_H
#define TEST_LOOPBACK_H

/* Listens, non-blocking; *port 0 takes a free one and gets its number. */
int loopback_listen(int *port);

/* A blocking connection with TCP_NODELAY. */
int loopback_connect(int port);

/* Takes a connection that waits, with TCP_NODELAY. */
int loopback_accept(int listen_fd);

#endif
