-- sale_claim_confirm: makes a held claim final.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
-- ARGV  1 the claim
--@reply 1 confirmed, 0 known: user text, quantity int
--@reply -1 no_sale, -2 absent, -3 expired
-- known: it was confirmed before. expired: its hold expired or was released.
-- Errors: WRONGTYPE, nothing done. O(log n).
--@idempotent
local claim = ARGV[1]
local sale = read_sale()
if not sale then
  return { -1, now }
end
local c = claim_of(redis.call('HGET', claims_key, claim))
if not c then
  return { is_claim(claim) and -3 or -2, now }
end
if c.state == 'confirmed' then
  return { 0, now, c.user, c.quantity }
end
if c.state == 'released' or c.expires_at_ms <= now then
  return { -3, now }
end
redis.call('HSET', claims_key, claim,
  table.concat({ 'confirmed', format('%d', c.quantity), format('%d', c.expires_at_ms), c.user }, ' '))
redis.call('ZREM', holds_key, claim)
redis.call('HINCRBY', sale_key, 'held', format('%d', -c.quantity))
redis.call('HINCRBY', sale_key, 'confirmed', format('%d', c.quantity))
return { 1, now, c.user, c.quantity }
