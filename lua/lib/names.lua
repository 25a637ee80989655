-- The index of names: for each kind whose names people choose a sorted set of them, all scores 0,
-- so that they are in order (service/call/name_index.h). A script that may make the first key of
-- such a kind gets the index's key as its last, and calls name_made where it did. In a Cluster each
-- slot has its own index.
local names_key = table.remove(KEYS)

-- name_made(key): that first key is new. A name that the index does not have is added, and two
-- others, chosen by chance, are removed if they do not exist any more: so, however many names come
-- and go, the index has about as many that went as that exist. Nothing of it refuses the call. A
-- slot of a Cluster that is on its way makes no new keys, so what does not exist here exists
-- nowhere. Returns whether it was added. O(log names).
local function name_made(key)
  local lead, name = string.match(key, '^(.*{)(.*)}$')
  if redis.pcall('ZADD', names_key, '0', name) ~= 1 then
    return false
  end
  for _, other in ipairs(redis.pcall('ZRANDMEMBER', names_key, '2')) do
    if redis.pcall('EXISTS', lead .. other .. '}') == 0 then
      redis.call('ZREM', names_key, other)
    end
  end
  return true
end
