-- Fences: numbers that rise with every grant. This module must not know what they protect.

-- fence_last(key): the last fence given out or seen, 0 when there never was one. O(1).
local function fence_last(key)
  local fence = redis.call('GET', key) or '0'
  if not string.find(fence, '^%d+$') then
    error(redis.error_reply('WRONGTYPE the key holds text that is not a fence'))
  end
  return tonumber(fence)
end

-- fence_next(key, last): writes the fence that comes after the last one, and returns it as number
-- and text.
local function fence_next(key, last)
  local fence = math.max(last + 1, now_us)
  local text = format('%d', fence)
  redis.call('SET', key, text, 'KEEPTTL')
  return fence, text
end
