-- sale_delete: deletes a sale with all its claims. Redis frees the memory in the background.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
--@reply 1 deleted, -1 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
if not read_sale() then
  return { -1, now }
end
redis.call('UNLINK', unpack(sale_keys))
return { 1, now }
