// Requests to the server. A change carries an id of its own and is sent again when its answer got lost.

const TRIES = 4;

export class Refused extends Error {}

function headers(more = {}) {
  const token = sessionStorage.getItem("alx-token");
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function send(path, options) {
  const response = await fetch(`/v1${path}`, { ...options, headers: headers(options.headers) });
  if (response.status === 401) {
    const token = prompt("The token of this server:");
    if (token) {
      sessionStorage.setItem("alx-token", token);
      return send(path, options);
    }
  }
  if (!response.ok) {
    const said = await response.json().catch(() => ({}));
    throw new Refused(said.error || `the server said ${response.status}`);
  }
  return response;
}

export async function get(path) {
  return (await send(path, {})).json();
}

export async function download(path, name) {
  const blob = await (await send(path, {})).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function json(path, body, method = "POST") {
  return change(path, JSON.stringify(body), "application/json", method);
}

export function csv(path, text) {
  return change(path, text, "text/csv", "POST");
}

async function change(path, body, type, method) {
  const own = Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, "0"));
  const options = { method, body, headers: { "Content-Type": type, "Idempotency-Key": own.join("") } };
  for (let again = 1; ; again++) {
    try {
      return await (await send(path, options)).json();
    } catch (error) {
      if (error instanceof Refused || again === TRIES) throw error;
      await new Promise(done => setTimeout(done, 500 * again));
    }
  }
}

// Calls `changed` with {experiment, version} as they come and `linked` with whether the server is there.
export async function watch(changed, linked) {
  for (;;) {
    try {
      const response = await send("/events", {});
      linked(true);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const blocks = (text + part.value).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const data = block.match(/^data: (.*)$/m);
          if (data) changed(JSON.parse(data[1]));
        }
      }
    } catch { /* the server is away: try again below */ }
    linked(false);
    await new Promise(done => setTimeout(done, 1000));
  }
}
