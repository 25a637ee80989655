-- Sends, receives and acknowledges elements of a list through webdis: BODY, percent-encoded. An
-- operation is an element that was sent, received and acknowledged.
require("report")

local body, ready, taken = nil, 0, 0
finished = 0

function init(args)
  body = args[1]
end

function request()
  if taken > 0 then
    taken = taken - 1
    return wrk.format("GET", "/LREM/work/1/" .. body)
  elseif ready > 0 then
    ready = ready - 1
    return wrk.format("GET", "/LMOVE/bench/work/RIGHT/LEFT")
  end
  return wrk.format("GET", "/LPUSH/bench/" .. body)
end

function response(_, _, text)
  if text:find('^{"LMOVE":"') then
    taken = taken + 1
  elseif text:find('^{"LPUSH":%d') then
    ready = ready + 1
  elseif text == '{"LREM":1}' then
    finished = finished + 1
  else
    error("webdis: " .. text)
  end
end
