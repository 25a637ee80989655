-- sale_claim_acquire: holds a quantity for a user.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
-- ARGV  1 random digits for the claim, 2 the user, 3 the quantity
--@reply 1 granted: claim text, expires_at_ms int, remaining int, is_confirmed int
--@again 0 again
--@reply -1 no_sale
--@reply -2 not_open: opens_at_ms int, closes_at_ms int
--@reply -3 limit_reached: claimed int, per_user int
--@reply -4 sold_out: left int, held int
-- again: expired holds were settled, and there may be more. claimed is what the user has. sold_out:
-- less than this quantity is left.
-- A replay returns the first reply with the present state, while the claim is held or confirmed.
-- Errors: WRONGTYPE, nothing done. O(100 log n).
--@idempotent proof
local digits, user, quantity = ARGV[1], ARGV[2], tonumber(ARGV[3])
local sale = read_sale()
if granted then
  local c = claim_of(redis.call('HGET', claims_key, granted[3]))
  granted[6] = c and c.state == 'confirmed' and 1 or 0
  return c and (c.state == 'confirmed' or c.state == 'held' and c.expires_at_ms > now) and granted
elseif not sale then
  return { -1, now }
end
if now < sale.opens_at_ms or sale.closes_at_ms > 0 and now >= sale.closes_at_ms then
  return { -2, now, sale.opens_at_ms, sale.closes_at_ms }
end

local is_settled = settle(sale, now)
local has = tonumber(redis.call('HGET', users_key, user) or '0')
local remaining = sale.stock - sale.held - sale.confirmed
local is_over_limit = sale.per_user > 0 and has + quantity > sale.per_user
if (is_over_limit or remaining < quantity) and not is_settled then
  return { 0, now }
elseif is_over_limit then
  return { -3, now, has, sale.per_user }
elseif remaining < quantity then
  return { -4, now, remaining, sale.held }
end

local expires_at_ms = now + sale.hold_ms
local claim = format('%d', expires_at_ms) .. '.' .. digits
redis.call('HSET', claims_key, claim, format('held %d %d ', quantity, expires_at_ms) .. user)
redis.call('ZADD', holds_key, format('%d', expires_at_ms), claim)
redis.call('HINCRBY', users_key, user, format('%d', quantity))
redis.call('HINCRBY', sale_key, 'held', format('%d', quantity))
local sale_expires_at = not sale.has_all_keys and expiry_at(sale_keys)
if sale_expires_at then -- the other keys may be new
  expire(sale_keys, sale_expires_at)
end
return { 1, now, claim, expires_at_ms, remaining - quantity, 0 }, true, sale.hold_ms
