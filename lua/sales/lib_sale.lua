-- What the sale scripts share. Wants lib/time.lua. KEYS, the same in every sale script:
--   1  p:sale:{name}   hash: opens_at_ms, closes_at_ms (0: never), stock, per_user (0: no limit), hold_ms; held and
--                      confirmed: the quantities that are
--   2  ...:claims      hash: claim to '<held, confirmed or released> <quantity> <expires_at_ms> <user>'; a
--                      released one has the quantity 0, and is kept for a minute at most, so that a
--                      repeated release succeeds
--   3  ...:holds       sorted set: claim by expires_at_ms, of those that are held or released
--   4  ...:users       hash: user to the quantity that is held and confirmed
-- A claim is the instant at which its hold ends, a dot, and random digits.
local sale_key, claims_key, holds_key, users_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local SETTLED_MOST = 100

-- read_sale(): its settings and counts, or nil when there is none; fails when a key is of a foreign
-- type. O(1).
local function read_sale()
  local f = redis.call('HMGET', sale_key, 'opens_at_ms', 'closes_at_ms', 'stock', 'per_user', 'hold_ms', 'held',
    'confirmed')
  redis.call('HLEN', claims_key)
  redis.call('ZCARD', holds_key)
  redis.call('HLEN', users_key)
  for i = 1, 7 do
    f[i] = tonumber(f[i] or '')
  end
  if not (f[1] and f[2] and f[3] and f[4] and f[5] and f[6] and f[7]) then
    if redis.call('EXISTS', sale_key) == 1 then
      error(redis.error_reply('WRONGTYPE the key holds a hash that is not a sale'))
    end
    return nil
  end
  return {
    opens_at_ms = f[1], closes_at_ms = f[2], stock = f[3], per_user = f[4], hold_ms = f[5], held = f[6],
    confirmed = f[7],
  }
end

-- claim_of(record): {state, quantity, expires_at_ms, user}; nil when there is no such claim, or it
-- is no record.
local function claim_of(record)
  local state, quantity, expires_at_ms, user = string.match(record or '', '^(%l+) (%d+) (%d+) (.+)$')
  if not state then
    return nil
  end
  return {state = state, quantity = tonumber(quantity), expires_at_ms = tonumber(expires_at_ms), user = user}
end

-- is_claim(text): whether a claim that is not there may have been one. Else the text is no claim at
-- all.
local function is_claim(text)
  return string.find(text, '^%d+%.%x+$') ~= nil
end

-- take_back(sale, claims): returns what these held or released claims hold to the stock, and
-- forgets them. O(claims * log n).
local function take_back(sale, claims)
  local sum = 0
  for _, record in ipairs(redis.call('HMGET', claims_key, unpack(claims))) do
    local c = claim_of(record)
    if c then
      sum = sum + c.quantity
      if redis.call('HINCRBY', users_key, c.user, digits(0 - c.quantity)) <= 0 then
        redis.call('HDEL', users_key, c.user)
      end
    end
  end
  redis.call('HDEL', claims_key, unpack(claims))
  redis.call('ZREM', holds_key, unpack(claims))
  sale.held = redis.call('HINCRBY', sale_key, 'held', digits(0 - sum)) -- not -0, which is no integer to Redis
end

-- settle(sale, now): takes back what was held until now, at most SETTLED_MOST claims. False when
-- there may be more.
local function settle(sale, now)
  local over = redis.call('ZRANGE', holds_key, '-inf', digits(now), 'BYSCORE', 'LIMIT', '0', SETTLED_MOST)
  if #over > 0 then
    take_back(sale, over)
  end
  return #over < SETTLED_MOST
end

-- told(sale, outcome, now): the reply that tells of a sale: {outcome, now, opens_at_ms,
-- closes_at_ms, stock, per_user, hold_ms, held, confirmed}.
local function told(sale, outcome, now)
  return {
    outcome, now, sale.opens_at_ms, sale.closes_at_ms, sale.stock, sale.per_user, sale.hold_ms, sale.held,
    sale.confirmed,
  }
end
