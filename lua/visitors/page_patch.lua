-- page_patch: sets whether a page keeps a total, and makes the page if it does.
-- KEYS     the page (visitors/lib_page.lua); its total (visitors/lib_total.lua); and the index of
--          names (lib/made.lua)
-- ARGV[1]  '1' it keeps one, '0' it keeps none, '' as it is
-- ARGV[2]  'uv' for visitors, 'pv' for views
-- ARGV[3]  how long days are kept, s
--@reply 1 changed, 0: total int
-- total is -1 without one.
-- Errors: WRONGTYPE, nothing done. O(1), but O(log names) for a page that is new.
-- The page is listed as long as it keeps a total, and after that as long as it can have a day.
local wanted, kind, kept_s = ARGV[1], ARGV[2], tonumber(ARGV[3])
local total_key, page_key = table.remove(KEYS), table.remove(KEYS, 1)
local views, is_kept
if kind == 'uv' then
  is_kept = total_is_sketch(total_key)
else
  views, is_kept = views_of(total_key)
end
local keep = wanted == '1' or wanted == '' and is_kept
if keep and not is_kept then
  if kind == 'uv' then
    redis.call('PFADD', total_key)
  else
    redis.call('SET', total_key, '0')
  end
  if redis.pcall('PERSIST', page_key) ~= 1 and redis.pcall('SET', page_key, '', 'NX') then
    made = { page_key }
  end
elseif is_kept and not keep then
  redis.call('UNLINK', total_key)
  redis.pcall('EXPIRE', page_key, format('%d', kept_s + DAY_S))
end
local total = keep and (views or redis.call('PFCOUNT', total_key)) or -1
return { keep ~= is_kept and 1 or 0, now, total }
