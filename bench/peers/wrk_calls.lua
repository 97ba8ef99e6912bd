-- Calls a tool over HTTP, as often as wrk can: one prepared request for each session, in turns.
-- Arguments: a file with the body, a file with a session id on each line. Prints the figures as JSON on the last line.

local requests = {}
local turn = 0

function init(arguments)
  local body = io.open(arguments[1]):read("*a")
  for session in io.lines(arguments[2]) do
    requests[#requests + 1] = wrk.format("POST", nil, {
      ["Accept"] = "application/json, text/event-stream",
      ["Content-Type"] = "application/json",
      ["Mcp-Session-Id"] = session,
      ["MCP-Protocol-Version"] = "2025-11-25",
    }, body)
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"errors": %d, "calls": %d, "p50Us": %d, "p99Us": %d, "callsPerSecond": %f}',
    errors.connect + errors.read + errors.write + errors.timeout + errors.status,
    summary.requests, latency:percentile(50), latency:percentile(99), summary.requests / summary.duration * 1e6))
end
