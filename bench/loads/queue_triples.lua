-- Sends, receives and acknowledges messages of patternd: BATCH BODY QUEUE, so many messages a
-- request. An operation is a message that went all the way.
require("report")

local batch, message, queue, receipts, ready = nil, nil, nil, require("fifo")(), 0
local json = { ["Content-Type"] = "application/json" }
finished = 0

function init(args)
  batch, message, queue = tonumber(args[1]), '{"body":' .. args[2] .. "}", "/queues/" .. args[3]
  if batch > 1 then message = '{"messages":[' .. string.rep(message, batch, ",") .. "]}" end
end

function request()
  local done = receipts.pop()
  if done and batch == 1 then return wrk.format("DELETE", queue .. "/deliveries/" .. done[1]) end
  if done then
    return wrk.format("POST", queue .. "/settle", json, '{"acknowledge":["' .. table.concat(done, '","') .. '"]}')
  end
  if ready >= batch then
    ready = ready - batch
    return wrk.format("POST", queue .. "/receive", json, '{"limit":' .. batch .. "}")
  end
  return wrk.format("POST", queue .. "/messages", json, message)
end

local function received(body)
  local found = {}
  for receipt in body:gmatch('"receipt":"([^"]+)"') do found[#found + 1] = receipt end
  if #found > 0 then receipts.push(found) end
  ready = ready + batch - #found
end

function response(status, _, body)
  if status == 201 then
    ready = ready + batch
  elseif status == 204 then
    finished = finished + 1
  elseif body:find('^{"messages"') then
    received(body)
  else
    finished = finished + select(2, body:gsub('"outcome":"acknowledged"', ""))
  end
end
