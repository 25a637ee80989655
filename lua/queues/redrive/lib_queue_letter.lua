-- Dead letters that move into another queue: the part of the body that names the queue in which
-- they died (handlers/queues/queue_content.h), and whether their id is free there.

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

-- letter_there(id, origin): what the queue, which gets a letter with that id and that origin, has
-- or remembers of the id: nil for nothing, 'moved' for this letter, 'taken' otherwise. A message
-- that only waits to be dropped is dropped.
local function letter_there(id, origin)
  local m, state = find(id)
  if m and state == 'expired' then
    drop_found(m)
    commit(true)
  elseif m then
    return body_of(m.content):match('^\tf([^\t]*)') == origin and 'moved' or 'taken'
  end
  local until_ms = redis.call('ZSCORE', keys[DONE], id)
  return until_ms and tonumber(until_ms) > now and 'taken' or nil
end
