-- sale_get: settles the expired holds of a sale, and returns its settings and counts.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
--@reply 0: sale, more int
--@reply -1 absent
-- more is 1 when more holds may have ended, so call again; else 0.
-- Errors: WRONGTYPE, nothing done. O(100 log n).
--@flags allow-oom
local sale = read_sale()
if not sale then
  return { -1, now }
end
local is_settled = settle(sale, now)
local reply = sale_reply(sale, 0, now)
reply[#reply + 1] = is_settled and 0 or 1
return reply
