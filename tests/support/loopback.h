/*
 * loopback: TCP sockets on 127.0.0.1 for the other parts of the test support. The functions return
 * -1 instead of failing the test.
 */
#ifndef TEST_LOOPBACK_H
#define TEST_LOOPBACK_H

/* Listens without blocking. If *port is 0, takes a free port and sets *port to its number. */
int loopback_listen(int *port);

/* Opens a blocking connection with TCP_NODELAY. */
int loopback_connect(int port);

/* Accepts a waiting connection and sets TCP_NODELAY. */
int loopback_accept(int listen_fd);

#endif
