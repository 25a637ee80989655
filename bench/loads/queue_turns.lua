-- Sends messages of patternd and works on them: BATCH BODY QUEUE, so many messages per request. A
-- turn of a worker is one request: it acknowledges the messages of the turn before, and receives
-- the next ones. An operation is a message that went all the way.
require("report")

local batch, message, queue, receipts, ready = nil, nil, nil, require("fifo")(), 0
local json = { ["Content-Type"] = "application/json" }
finished = 0

function init(args)
  batch, message, queue = tonumber(args[1]), '{"body":' .. args[2] .. "}", "/queues/" .. args[3]
  if batch > 1 then message = '{"messages":[' .. string.rep(message, batch, ",") .. "]}" end
end

function request()
  if ready < batch then return wrk.format("POST", queue .. "/messages", json, message) end
  ready = ready - batch
  local done = receipts.pop()
  local settle = done and '"' .. table.concat(done, '","') .. '"' or ""
  return wrk.format(
    "POST", queue .. "/receive", json, '{"limit":' .. batch .. ',"settle":{"acknowledge":[' .. settle .. "]}}")
end

function response(status, _, body)
  if status == 201 then
    ready = ready + batch
    return
  end
  if status ~= 200 then error("patternd: " .. body) end
  finished = finished + select(2, body:gsub('"outcome":"acknowledged"', ""))
  local found = {}
  for receipt in body:match('"messages":.*'):gmatch('"receipt":"([^"]+)"') do found[#found + 1] = receipt end
  if #found > 0 then receipts.push(found) end
  ready = ready + batch - #found
end
