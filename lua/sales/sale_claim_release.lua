-- sale_claim_release: releases a claim before its hold ends: its quantity returns to the stock.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
-- ARGV  1 the claim
--@reply 1 released, 0 known
--@reply -1 no_sale, -2 absent, -3 confirmed, -4 expired
-- known: it was released before. expired: its hold expired, or was released more than a minute ago.
-- Errors: WRONGTYPE, nothing done. O(log n).
--@flags allow-oom
local claim = ARGV[1]
local sale = read_sale()
if not sale then
  return { -1, now }
end
local c = claim_of(redis.call('HGET', claims_key, claim))
if c and c.state == 'confirmed' then
  return { -3, now }
end
if not c or c.expires_at_ms <= now then
  return { is_claim(claim) and -4 or -2, now }
end
if c.state == 'released' then
  return { 0, now }
end
if redis.call('HINCRBY', users_key, c.user, format('%d', -c.quantity)) <= 0 then
  redis.call('HDEL', users_key, c.user)
end
redis.call('HINCRBY', sale_key, 'held', format('%d', -c.quantity))
local known_until_ms = format('%d', math.min(c.expires_at_ms, now + 60000))
redis.call('HSET', claims_key, claim, table.concat({ 'released', '0', known_until_ms, c.user }, ' '))
redis.call('ZADD', holds_key, known_until_ms, claim)
return { 1, now }
