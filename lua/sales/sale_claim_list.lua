-- sale_claim_list: one page of the claims that are held or confirmed, by HSCAN.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
-- ARGV  1 cursor: '0' to begin, or as returned before, 2 how many claims fit on the page, at most
--       1000
--@shape sale_claim: claim text, state text, quantity int, expires_at_ms int, user text
--@reply 0: next_cursor text, claims (sale_claim)...
--@reply -1 no_sale, -2 no_cursor
-- next_cursor is '0' at the end.
-- Errors: WRONGTYPE. O(page): it reads at most 2000 claims, for a millisecond.
--@reads
local cursor, limit = ARGV[1], tonumber(ARGV[2])
if not read_sale() then
  return { -1, now }
end
local claims, next_cursor = scan_page('HSCAN', claims_key, cursor, '', limit)
if not claims then
  return { -2, now }
end
local reply = { 0, now, next_cursor }
for i, record in ipairs(#claims > 0 and redis.call('HMGET', claims_key, unpack(claims)) or {}) do
  local c = claim_of(record)
  if c and (c.state == 'confirmed' or c.state == 'held' and c.expires_at_ms > now) then
    for _, value in ipairs({ claims[i], c.state, c.quantity, c.expires_at_ms, c.user }) do
      reply[#reply + 1] = value
    end
  end
end
return reply
