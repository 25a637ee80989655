/* A request to patternd, and what comes of it, with libcurl and jansson. */
#include "call.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One try. Returns its status, 0 if there was no answer; what came is read into `received`. */
static long try(CURL *curl, struct answer *received)
{
	char *text = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&text, &len);
	long status = 0;
	curl_off_t retry_after = 1;

	curl_easy_setopt(curl, CURLOPT_WRITEDATA, stream); /* libcurl's own callback is fwrite */
	if (curl_easy_perform(curl) == CURLE_OK) {
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
	}
	fclose(stream);
	json_decref(received->json);
	received->json = json_loadb(text, len, 0, NULL);
	received->retry_after = (unsigned int)retry_after;
	free(text);
	return status;
}

/* Again while it was not served. */
static long try_until_served(CURL *curl, struct answer *received)
{
	long status = try(curl, received);

	for (int tries = 1; tries < 5 && (status == 0 || status == 503 || status == 504); tries++) {
		sleep(received->retry_after);
		status = try(curl, received);
	}
	return status;
}

/* Whether it is one of the words. */
static bool is_among(const char *word, const char *words)
{
	for (size_t len; (len = strcspn(words, " ")) > 0; words += len + strspn(words + len, " "))
		if (strncmp(words, word, len) == 0 && word[len] == '\0')
			return true;
	return false;
}

struct answer call(const char *method, const char *path, const char *token, const char *may_be, const char *format, ...)
{
	static struct answer answer;
	const char *base = getenv("PATTERND_URL");
	char url[256], key[64], lock_token[128], *body = NULL;
	va_list values;

	va_start(values, format);
	json_t *json = format ? json_vpack_ex(NULL, 0, format, values) : NULL;
	va_end(values);
	snprintf(url, sizeof(url), "%s%s", base ? base : "http://127.0.0.1:8379", path);
	snprintf(key, sizeof(key), "Idempotency-Key: %08x%08x%08x", arc4random(), arc4random(), arc4random());
	snprintf(lock_token, sizeof(lock_token), "Lock-Token: %s", token ? token : "");
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
	headers = curl_slist_append(curl_slist_append(headers, key), lock_token);
	CURL *curl = curl_easy_init();
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 30L);
	if (json)
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body = json_dumps(json, 0));
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);

	long status = try_until_served(curl, &answer);
	const char *code = text_of(answer.json, "code");
	answer.refused = code && may_be && is_among(code, may_be);
	if (!answer.refused && (status < 200 || status > 299)) {
		fprintf(stderr, "%s %s: %s\n", method, path, code ? code : "patternd cannot be reached");
		exit(1);
	}
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	json_decref(json);
	free(body);
	return answer;
}
