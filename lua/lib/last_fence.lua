-- last_fence(key): the last fence given out or seen, 0 when there never was one. O(1).
-- This part needs no other, and must not know what the fences protect.
local function last_fence(key)
  local fence = redis.call('GET', key) or '0'
  if not string.find(fence, '^%d+$') then
    error(redis.error_reply('WRONGTYPE the key holds text that is not a fence'))
  end
  return tonumber(fence)
end
