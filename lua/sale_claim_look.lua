-- sale_claim_look: whether a claim stands, held or confirmed: what the retry of a claim wants to know.
-- KEYS  the sale's (lib/sale.lua)
-- ARGV  1 the claim
-- Returns {0, now, 1 when it stands, else 0}
-- Errors: WRONGTYPE. O(1).
--@include time sale
--@reads
local now = now_ms()
read_sale()
local c = claim_of(redis.call('HGET', claims_key, ARGV[1]))
local stands = c and (c.state == 'confirmed' or c.expires_at_ms > now)
return {0, now, stands and 1 or 0}
