-- wrk script: POST /payments with an id that no other request has, of any thread or run.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init()
  run = tonumber(os.getenv("WRK_RUN") or "0")
  counter = 0
end

function request()
  counter = counter + 1
  -- The leading part is scattered: ids that rise in order would flatter the index.
  local scattered = counter * 2654435761 % 4294967296
  local body = string.format('{"correlationId":"%08x-%04x-4%03x-8000-%012x","amount":19.90}', scattered, run, number, counter)
  return wrk.format("POST", "/payments", { ["Content-Type"] = "application/json" }, body)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("result %d %.3f %.3f %d\n", summary.requests, latency:percentile(50) / 1000,
    latency:percentile(99) / 1000, errors.status + errors.connect + errors.read + errors.timeout))
end
