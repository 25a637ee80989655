-- The expiry of a thing with one or several keys: all of them expire at the same instant, in Unix
-- ms; false is never. Needs lib/time.lua.

-- expires_at(keys): that instant, of the first key that exists. Read it before a write that makes
-- keys or drops their TTL. O(keys).
local function expires_at(keys)
  for _, key in ipairs(keys) do
    local at = redis.call('PEXPIRETIME', key)
    if at ~= -2 then
      return at > 0 and at
    end
  end
  return false
end

-- expiry_after(ttl, now, at): the instant that a request's ttl_ms asks for, as handler_call_ttl
-- sends it: '' it stays `at`, 'null' never, else in that many ms.
local function expiry_after(ttl, now, at)
  if ttl == '' then
    return at
  end
  return ttl ~= 'null' and now + tonumber(ttl)
end

-- expire(keys, at): sets it for all keys that exist, also for those that the script just made.
-- O(keys).
local function expire(keys, at)
  for _, key in ipairs(keys) do
    if at then
      redis.call('PEXPIREAT', key, digits(at))
    else
      redis.call('PERSIST', key)
    end
  end
end

-- expiry_reply(at): the instant as handler_out_expiry reads it.
local function expiry_reply(at)
  return at or -1
end
