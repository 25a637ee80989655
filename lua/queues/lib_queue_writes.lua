-- Writes that are planned and made together: removals before additions, one command per key and
-- verb.
local function plan(verb, key, a, b)
  local name = verb .. key
  local command = queue.planned[name]
  if not command then
    command = { verb, key }
    queue.planned[name] = command
    queue.planned[#queue.planned + 1] = command
  end
  command[#command + 1] = a
  command[#command + 1] = b
end

local function write_planned()
  for _, c in ipairs(queue.planned) do
    if c[1] == 'ZREM' or c[1] == 'HDEL' then
      redis.call(unpack(c))
    end
  end
  for _, c in ipairs(queue.planned) do
    if c[1] == 'ZADD' or c[1] == 'HSET' then
      redis.call(unpack(c))
    end
  end
  queue.planned = {}
end
