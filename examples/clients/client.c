/* Five measurements in C with libcurl: cc client.c -lcurl -lm && ./a.out [http://127.0.0.1:8765] */
#include <curl/curl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char answer[65536];

static size_t keep(char *data, size_t size, size_t count, void *used) {
    size_t *at = used, n = size * count;
    if (*at + n >= sizeof answer) return 0;
    memcpy(answer + *at, data, n);
    answer[*at += n] = 0;
    return n;
}

/* The answer to a POST is in `answer`. A lost one is asked for again with the same id, so it counts once. */
static void post(const char *url, const char *body) {
    static unsigned count;
    char id[64];
    snprintf(id, sizeof id, "Idempotency-Key: c-%ld-%u", (long)time(NULL), ++count);
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, id);
    CURLcode result = CURLE_OK;
    long status = 0;
    for (int tries = 0; tries < 4; tries++) {
        size_t length = 0;
        CURL *curl = curl_easy_init();
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &length);
        result = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_cleanup(curl);
        if (result == CURLE_OK) break;
    }
    curl_slist_free_all(headers);
    if (result != CURLE_OK || status >= 300) {
        fprintf(stderr, "%s\n", result != CURLE_OK ? curl_easy_strerror(result) : answer);
        exit(1);
    }
}

int main(int count, char **words) {
    char api[200], url[300], body[200], id[17];
    snprintf(api, sizeof api, "%s/v1/experiments", count > 1 ? words[1] : "http://127.0.0.1:8765");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    post(api, "{\"name\": \"C\", \"budget\": 5, \"inputs\": [{\"name\": \"x\", \"low\": 0, \"high\": 1}]}");
    char *at = strstr(answer, "\"id\":\"");
    if (!at || sscanf(at, "\"id\":\"%16[0-9a-f]", id) != 1) return 1;
    for (int i = 0; i < 5; i++) {
        double x;
        snprintf(url, sizeof url, "%s/%s/ask", api, id);
        post(url, "{}");
        at = strstr(answer, "\"x\":[[");
        if (!at || sscanf(at, "\"x\":[[%lf", &x) != 1) return 1;
        snprintf(url, sizeof url, "%s/%s/tell", api, id);
        snprintf(body, sizeof body, "{\"x\": [%.17g], \"y\": %.17g}", x, sin(7 * x)); /* the measurement */
        post(url, body);
        printf("%g: %s\n", x, answer);
    }
    curl_global_cleanup();
    return 0;
}
