#!/bin/sh
# Five measurements by curl alone; sh client.sh [http://127.0.0.1:8765]
set -eu
api="${1:-http://127.0.0.1:8765}/v1/experiments"

post() { # what is posted, and where to
    # --retry is safe: a request id that is sent twice counts once.
    curl --silent --show-error --fail-with-body --retry 5 --retry-connrefused \
        -H "Content-Type: application/json" -H "Idempotency-Key: $(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')" \
        -d "$1" "$api$2"
}

id=$(post '{"name": "curl", "budget": 5, "inputs": [{"name": "x", "low": 0, "high": 1}]}' "" |
    sed 's/.*"id":"\([^"]*\)".*/\1/')
for _ in 1 2 3 4 5; do
    x=$(post '{}' "/$id/ask" | sed 's/.*"x":\[\[\([^]]*\)\]\].*/\1/')
    y=$(awk "BEGIN { print sin(7 * $x) }") # the measurement
    post "{\"x\": [$x], \"y\": $y}" "/$id/tell"
    echo
done
curl --silent --show-error "$api/$id/error"
echo
