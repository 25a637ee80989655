-- The index of names: a sorted set for each kind whose names clients choose
-- (service/call/name_index.h). All scores are 0, so Redis sorts the names. A script that may make
-- the first key of such a resource gets the index as its last key, and calls name_made after it
-- made that first key. In a Cluster each slot has its own index. This part needs no other, and must
-- not know what the first key contains.
local names_key = table.remove(KEYS)

-- name_put(key): adds the name of a first key. Returns whether the name is new to the index. An
-- index of another type does not make the script fail. O(log names).
local function name_put(key)
  return redis.pcall('ZADD', names_key, '0', string.match(key, '^.*{(.*)}$')) == 1
end

-- name_made(key): adds the name of a first key that the script just made. If the name is new,
-- removes up to two other names, chosen at random, whose keys do not exist any more. So at most
-- about half of the names in the index have no key, however many come and go. Redis does not run a
-- script that makes a key in a slot which is migrating, so a key that does not exist here exists on
-- no other node. O(log names).
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
