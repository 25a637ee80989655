-- What a dead letter keeps when it moves into another queue: its body, with the part that names the
-- queue in which it died (handlers/queues/queue_content.h).

-- without_origin(body): the body without that part.
local function without_origin(body)
  local rest = body:match('^\tf[^\t]*(\t.*)$')
  return rest and rest:sub(1, 2) == '\t=' and rest:sub(3) or rest or body
end

-- body_from(queue_name, m): the body of a dead letter that leaves the queue of that name, which is
-- percent-encoded. An earlier origin is replaced.
local function body_from(queue_name, m)
  local rest = without_origin(body_of(m.content))
  return '\tf' .. queue_name .. ' ' .. m.seq .. (rest:sub(1, 1) == '\t' and '' or '\t=') .. rest
end
