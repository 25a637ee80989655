-- What a sale is in Redis, and what its scripts share: its settings, its claims, and how expired
-- holds return to the stock.
-- KEYS, the same in every sale script; all of them expire together:
--   1  p:sale:{name}   hash: the settings (SALE_SETTINGS; 0: none), and the quantities that are
--                      held and confirmed
--   2  ...:claims      hash: claim to '<held, confirmed or released> <quantity> <expires_at_ms>
--                      <user>'; a released claim has the quantity 0, and is kept for a minute at
--                      most, so that a repeated release succeeds
--   3  ...:holds       sorted set: each claim that is held or released, by expires_at_ms
--   4  ...:users       hash: user to the quantity that is held and confirmed
-- A claim is the instant at which its hold ends, a dot, and random digits.
local sale_key, claims_key, holds_key, users_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sale_keys = { sale_key, claims_key, holds_key, users_key }
local SALE_SETTINGS = { 'opens_at_ms', 'closes_at_ms', 'stock', 'per_user', 'hold_ms', 'retention_ms' }
local SETTLED_MOST = 100

-- read_sale(): the settings and counts of the sale, nil without a sale. Fails when a key has
-- another type. O(1).
local function read_sale()
  local f = redis.call('HMGET', sale_key, 'held', 'confirmed', unpack(SALE_SETTINGS))
  local least = math.min(redis.call('HLEN', claims_key), redis.call('ZCARD', holds_key), redis.call('HLEN', users_key))
  local is_whole = true
  local sale = { held = tonumber(f[1] or ''), confirmed = tonumber(f[2] or ''), has_all_keys = least > 0 }
  for i, name in ipairs(SALE_SETTINGS) do
    sale[name] = tonumber(f[i + 2] or '')
    is_whole = is_whole and sale[name]
  end
  if is_whole and sale.held and sale.confirmed then
    return sale
  elseif redis.call('EXISTS', sale_key) == 1 then
    error(redis.error_reply('WRONGTYPE the key holds a hash that is not a sale'))
  end
  return nil
end

-- claim_of(record): {state, quantity, expires_at_ms, user}; nil without a record, or when the text
-- is not the record of a claim.
local function claim_of(record)
  local state, quantity, expires_at_ms, user = string.match(record or '', '^(%l+) (%d+) (%d+) (.+)$')
  if not state then
    return nil
  end
  return { state = state, quantity = tonumber(quantity), expires_at_ms = tonumber(expires_at_ms), user = user }
end

-- is_claim(text): whether the text has the form of a claim, so that it may have been one before.
local function is_claim(text)
  return string.find(text, '^%d+%.%x+$') ~= nil
end

-- take_back(sale, claims): returns the quantities of these held or released claims to the stock,
-- and forgets the claims. O(claims * log n).
local function take_back(sale, claims)
  local sum = 0
  for _, record in ipairs(redis.call('HMGET', claims_key, unpack(claims))) do
    local c = claim_of(record)
    if c then
      sum = sum + c.quantity
      if redis.call('HINCRBY', users_key, c.user, format('%d', 0 - c.quantity)) <= 0 then
        redis.call('HDEL', users_key, c.user)
      end
    end
  end
  redis.call('HDEL', claims_key, unpack(claims))
  redis.call('ZREM', holds_key, unpack(claims))
  sale.has_all_keys = false -- maybe: Redis removes a key without elements
  sale.held = redis.call('HINCRBY', sale_key, 'held', format('%d', 0 - sum)) -- not -0, which is not an integer to Redis
end

-- settle(sale, now): takes back the claims whose hold has ended by now, at most SETTLED_MOST.
-- Returns false when there may be more.
local function settle(sale, now)
  local over = redis.call('ZRANGE', holds_key, '-inf', format('%d', now), 'BYSCORE', 'LIMIT', '0', SETTLED_MOST)
  if #over > 0 then
    take_back(sale, over)
  end
  return #over < SETTLED_MOST
end

-- sale_reply(sale, outcome, now): the reply that describes a sale.
--@shape sale: opens_at_ms int, closes_at_ms int, stock int, per_user int, hold_ms int,
-- retention_ms int, held int, confirmed int, expires_at_ms int
-- expires_at_ms is -1 if the sale never expires. A setting of 0 means that there is none.
local function sale_reply(sale, outcome, now)
  return {
    outcome, now, sale.opens_at_ms, sale.closes_at_ms, sale.stock, sale.per_user, sale.hold_ms, sale.retention_ms,
    sale.held, sale.confirmed, expiry_reply(expiry_at(sale_keys)),
  }
end

-- sale_expiry(sale, now): when a sale with these settings expires: retention_ms after it has closed
-- and its last hold can have ended, but not before the next millisecond. false means never.
local function sale_expiry(sale, now)
  if sale.closes_at_ms == 0 or sale.retention_ms == 0 then
    return false
  end
  local last = redis.call('ZRANGE', holds_key, '-1', '-1', 'WITHSCORES')
  local ends_at_ms = math.max(sale.closes_at_ms + sale.hold_ms, tonumber(last[2] or '0'))
  return math.max(ends_at_ms + sale.retention_ms, now + 1)
end

-- change(sale, now): writes the settings in ARGV, in the order of SALE_SETTINGS; '' keeps a
-- setting. `sale` is nil if there is no sale yet. Returns the reply, with one of these outcomes:
--    2  it is new, 1 it is changed: with the sale
--   -2  more than this stock is held and confirmed: with the sale and its present settings
--   -3  it would close before it opens: without the sale
--    0  expired holds were settled, and there may be more: without the sale
-- Keys that an earlier sale left, when only its first key was deleted, are removed; Redis frees
-- their memory in the background. O(SETTLED_MOST log n).
local function change(sale, now)
  local wanted, is_settled = { held = 0, confirmed = 0 }, true
  for i, name in ipairs(SALE_SETTINGS) do
    wanted[name] = tonumber(ARGV[i]) or sale[name]
  end
  if wanted.closes_at_ms > 0 and wanted.closes_at_ms <= wanted.opens_at_ms then
    return { -3, now }
  end
  if not sale then
    redis.call('UNLINK', claims_key, holds_key, users_key)
  else
    is_settled = settle(sale, now)
    wanted.held, wanted.confirmed = sale.held, sale.confirmed
    if wanted.stock < sale.held + sale.confirmed then
      return is_settled and sale_reply(sale, -2, now) or { 0, now }
    end
  end
  local fields = { 'held', format('%d', wanted.held), 'confirmed', format('%d', wanted.confirmed) }
  for _, name in ipairs(SALE_SETTINGS) do
    fields[#fields + 1] = name
    fields[#fields + 1] = format('%d', wanted[name])
  end
  redis.call('HSET', sale_key, unpack(fields))
  expire(sale_keys, sale_expiry(wanted, now))
  return sale_reply(wanted, sale and 1 or 2, now)
end
