-- sale_claim_get: a claim that is held or confirmed.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
-- ARGV  1 the claim
--@reply 0: state text, quantity int, expires_at_ms int, user text
--@reply -1 no_sale, -2 absent, -3 expired
-- expired: its hold expired or was released.
-- Errors: WRONGTYPE. O(1).
--@reads
local claim = ARGV[1]
if not read_sale() then
  return { -1, now }
end
local c = claim_of(redis.call('HGET', claims_key, claim))
if c and (c.state == 'confirmed' or c.state == 'held' and c.expires_at_ms > now) then
  return { 0, now, c.state, c.quantity, c.expires_at_ms, c.user }
end
return { (c or is_claim(claim)) and -3 or -2, now }
