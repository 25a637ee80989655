-- Takes and releases locks of patternd, each with a separate name until the names come round. An
-- operation is a pair.
require("report")

local held, number, run = require("fifo")(), 0, os.time()
local json = { ["Content-Type"] = "application/json" }
finished = 0

function request()
  local lock = held.pop()
  if lock then return wrk.format("DELETE", "/locks/" .. lock.name, { ["Lock-Token"] = lock.token }) end
  number = number % 256 + 1
  return wrk.format("POST", string.format("/locks/%d-%d", run, number), json, '{"ttl_ms":30000}')
end

function response(status, _, body)
  if status == 201 then
    local name, token = body:match('"name":"([^"]+)","token":"(%x+)"')
    held.push({ name = name, token = token })
  else
    finished = finished + 1
  end
end
