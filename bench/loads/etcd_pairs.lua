-- Takes and releases locks through etcd's HTTP gateway, as lock_pairs.lua does: LEASE..., one for
-- each name. The names, of twelve letters and digits, are base64 as they are.
require("report")

local held, number, run, leases = require("fifo")(), 0, os.time(), {}
local json = { ["Content-Type"] = "application/json" }
finished = 0

function init(args)
  for i = 1, #args do leases[i] = args[i] end
end

function request()
  local key = held.pop()
  if key then return wrk.format("POST", "/v3/lock/unlock", json, '{"key":"' .. key .. '"}') end
  number = number % #leases + 1
  local body = string.format('{"name":"%08x%04d","lease":"%s"}', run, number, leases[number])
  return wrk.format("POST", "/v3/lock/lock", json, body)
end

function response(_, _, body)
  local key = body:match('"key":"([^"]+)"')
  if key then held.push(key) else finished = finished + 1 end
end
