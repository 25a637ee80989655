/* requests: fragments of HTTP that the fault tests send byte by byte. */
#ifndef TEST_REQUESTS_H
#define TEST_REQUESTS_H

#define HOST "Host: 127.0.0.1\r\n"
#define JSON "Content-Type: application/json\r\n"
#define GET(target) "GET " target " HTTP/1.1\r\n"
#define TAKE "POST /ratelimit HTTP/1.1\r\n" HOST JSON
#define END "\r\n"
#define BODY "{\"key\":\"k\",\"limit\":9,\"window_ms\":1000}" /* 38 bytes */
#define SMUGGLED GET("/healthz") HOST END

#endif
