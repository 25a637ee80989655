-- The expiry of a resource with one or several keys. All of them expire at the same instant. An
-- expiry is in Unix ms; false means never. This module must not know what the resource is.

-- expiry_at(keys): the expiry of the first key that exists. Call it before a write that makes keys
-- or drops their TTL. O(keys).
local function expiry_at(keys)
  for _, key in ipairs(keys) do
    local at = redis.call('PEXPIRETIME', key)
    if at ~= -2 then
      return at > 0 and at
    end
  end
  return false
end

-- expiry_after(ttl, now, at): the expiry that a request's ttl_ms asks for, as handler_call_ttl
-- sends it: '' keeps `at`, 'null' is never, a number is in that many ms.
local function expiry_after(ttl, now, at)
  if ttl == '' then
    return at
  end
  return ttl ~= 'null' and now + tonumber(ttl)
end

-- expire(keys, at): sets the expiry of all keys that exist, also of the keys that the script just
-- made. O(keys).
local function expire(keys, at)
  for _, key in ipairs(keys) do
    if at then
      redis.call('PEXPIREAT', key, format('%d', at))
    else
      redis.call('PERSIST', key)
    end
  end
end

-- expiry_reply(at): the expiry as handler_out_expiry reads it.
local function expiry_reply(at)
  return at or -1
end
