-- The index of names: for each kind whose names people choose a sorted set of them, all scores 0,
-- so that they are in order (service/call/name_index.h). A script that may make the first key of
-- such a kind gets the index's key as its last, and calls name_made where it did. In a Cluster each
-- slot has its own index.
local names_key = table.remove(KEYS)

-- name_put(key): that first key exists. Returns whether the index did not have its name; what is
-- wrong with the index refuses nothing. O(log names).
local function name_put(key)
  return redis.pcall('ZADD', names_key, '0', string.match(key, '^.*{(.*)}$')) == 1
end

-- name_made(key): the script made that first key. Its name is added, and then two others, chosen by
-- chance, are removed if they do not exist any more: so, however many names come and go, the index
-- has about as many that went as that exist. Redis runs no script that makes a key of a slot which
-- is on its way to another node, so what does not exist here exists nowhere. O(log names).
local function name_made(key)
  if not name_put(key) then
    return
  end
  local lead = string.match(key, '^(.*{)')
  for _, other in ipairs(redis.pcall('ZRANDMEMBER', names_key, '2')) do
    if redis.pcall('EXISTS', lead .. other .. '}') == 0 then
      redis.pcall('ZREM', names_key, other)
    end
  end
end
