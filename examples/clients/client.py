"""Five measurements with Python's standard library alone: python client.py [http://127.0.0.1:8765]."""

import json
import math
import sys
import time
import urllib.error
import urllib.request
import uuid

API = (sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8765") + "/v1/experiments"


def call(path="", body=None):
    """The answer to a GET, or with a body to a POST. A lost answer is asked for again: it counts once."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
    data = None if body is None else json.dumps(body).encode()
    for wait in (1, 2, 4, None):
        try:
            with urllib.request.urlopen(urllib.request.Request(API + path, data, headers)) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise SystemExit(json.load(error)["error"]) from None
        except OSError:
            if wait is None:
                raise
            time.sleep(wait)


inputs = [{"name": "angle", "low": 0, "high": 90, "unit": "deg"}]
experiment = "/" + call(body={"name": "urllib", "inputs": inputs, "budget": 5})["id"]
while True:
    (x,) = call(experiment + "/ask", {})["x"]
    progress = call(experiment + "/tell", {"x": x, "y": math.sin(math.radians(x[0]))})
    print(f"{x[0]:.2f}, {progress['remaining']} to go")
    if progress["remaining"] == 0:
        break
print("error about", call(experiment + "/error")["rmse"][0])
