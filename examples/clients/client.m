% Five measurements from MATLAB (R2017b or later); start `alx serve` first.
api = "http://127.0.0.1:8765/v1/experiments";

made = post(api, struct("name", "MATLAB", "budget", 5, ...
    "inputs", {{struct("name", "x", "low", 0, "high", 1)}}));
one = api + "/" + made.id;
for i = 1:5
    asked = post(one + "/ask", struct("n", 1));
    x = asked.x(1, :);
    y = sin(7 * x);  % the measurement
    progress = post(one + "/tell", struct("x", {num2cell(x)}, "y", y));
    fprintf("%g: %d to go\n", x, progress.remaining);
end
disp(webread(one + "/error"));

function answer = post(url, body)
% The request id makes it safe to send the same again when the answer got lost.
id = char(java.util.UUID.randomUUID);
options = weboptions("MediaType", "application/json", "Timeout", 60, ...
    "HeaderFields", ["Idempotency-Key", id]);
for attempt = 1:4
    try
        answer = webwrite(url, body, options);
        return
    catch problem
        if attempt == 4 || contains(problem.identifier, "HTTP4")
            rethrow(problem);  % refused: the same again would be refused again
        end
        pause(attempt);
    end
end
end
