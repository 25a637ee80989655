-- The same request with ever another number from 1 to 10000 where the PATH or BODY has an @: METHOD
-- PATH [BODY].
require("report")

local method, path, body, headers
local number = 0

function init(args)
  method, path, body = args[1], args[2], args[3]
  headers = body and { ["Content-Type"] = "application/json" } or nil
end

function request()
  number = number % 10000 + 1
  return wrk.format(method, (path:gsub("@", number)), headers, body and body:gsub("@", number) or nil)
end
