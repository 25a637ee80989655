-- sale_get: settles the expired holds of a sale, and returns its settings and counts.
-- KEYS     the keys of a sale (sales/lib_sale.lua)
-- ARGV[1]  'once': replies also while more holds may have ended
--@reply 0: sale
--@reply -1 absent
--@again -2 again
-- Errors: WRONGTYPE, nothing done. O(100 log n).
--@flags allow-oom
local how_often = ARGV[1]
local sale = read_sale()
if not sale then
  return { -1, now }
end
if not settle(sale, now) and how_often ~= 'once' then
  return { -2, now }
end
return sale_reply(sale, 0, now)
