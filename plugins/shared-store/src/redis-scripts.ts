import { createHash } from 'node:crypto'
import type { QuotaAlgorithm } from './contract.ts'

/**
 * A Lua script. All keys are in KEYS, as Redis requires. Numbers arrive as decimal text, and are returned as integers
 * or packed into one string.
 */
export interface Script {
  readonly text: string
  readonly sha: string
}

const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') })

/** KEYS: counter. ARGV: amount, lifetime. A counter without a lifetime gets one, so that it does not stay forever. */
export const incrementScript = script(`
local value = redis.call('INCRBY', KEYS[1], ARGV[1])
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  ttl = tonumber(ARGV[2])
end
return {value, ttl}
`)

/**
 * KEYS: lock, fence. ARGV: owner, lease. The fence is the time in microseconds, but at least the last fence plus one.
 * So it grows even if Redis restarts empty or its clock is set back.
 */
export const acquireScript = script(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
local time = redis.call('TIME')
local fence = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if fence <= last then fence = last + 1 end
redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', 86400000 + ARGV[2])
return fence
`)

/** KEYS: lock or value. ARGV: owner or expected value, lease. Without a lease, the key is deleted. */
export const extendOrDeleteScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('DEL', KEYS[1])
`)

/** KEYS: windows of a key. ARGV: length of the window, units to return. See `windowRule` for the fields. */
export const refundScript = script(`
for _, field in ipairs({'s' .. ARGV[1], ARGV[1]}) do
  local used = tonumber(redis.call('HGET', KEYS[1], field) or '0')
  if used > 0 then
    redis.call('HINCRBY', KEYS[1], field, string.format('%.0f', -math.min(used, tonumber(ARGV[2]))))
  end
end
`)

/** Reads the time once per script, so that all decisions have the same time. */
const readTime = `
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end`

/**
 * Decides a quota in Lua by the rules of `quota-rules.ts`. Reads `key`, `take` and the values of the request. Sets
 * `remaining` (or `-1 - remaining` for a denial) and `ms` (the remaining time of a window, or the wait for a bucket).
 * This text is inserted into each script, because a function call per request would take 10 % more time.
 *
 * The windows of a key are a hash. A single window is one field (`single`: "s" and the length) with the used amount,
 * and expires with the key. If windows of another length are added, each window has two fields: `length` with the used
 * amount and `ending` with the end.
 */
const windowRule = `
local used, ms, remaining, held
if take and cost <= limit then used = call('HINCRBY', key, single, units) end
if used and used > cost then
  ms = call('PTTL', key)
  if ms > span or ms < 0 then
    call('PEXPIRE', key, length)
    ms = span
  end
  if used <= limit then
    remaining = limit - used
  else
    call('HINCRBY', key, single, '-' .. units)
    remaining = -1 - math.max(0, limit - (used - cost))
  end
else
  if used then held = call('HLEN', key) end
  if held == 1 then
    call('PEXPIRE', key, length)
    ms, remaining = span, limit - cost
  else
    remaining, ms = decideAmong(key, take, limit, span, cost, units, length, held)
  end
end
`

/** Lua code that is inserted before a rule. */
const prelude = {
  window: `
local now
-- Windows of the key that are over; without this a key in steady use would keep the remains of all its lengths.
local function forget(key)
  local fields = call('HGETALL', key)
  for at = 1, #fields, 2 do
    local length = string.match(fields[at], '^(%d+)e$')
    if length and tonumber(fields[at + 1]) <= now then call('HDEL', key, length, fields[at]) end
  end
end
-- The window that was alone gets an end of its own.
local function join(key)
  local fields = call('HGETALL', key)
  local length = string.match(fields[1], '^s(%d+)$')
  if not length then return end
  local left, span = call('PTTL', key), tonumber(length)
  if left < 0 or left > span then
    left = span
    call('PEXPIRE', key, length)
  end
  call('HSET', key, length, fields[2], length .. 'e', string.format('%.0f', now + left))
  call('HDEL', key, fields[1])
end
-- What is not the usual: to look, a cost above the limit, and several windows of a key. With the number of fields (held)
-- the field of a window that is alone was just made and goes again.
local function decideAmong(key, take, limit, span, cost, units, length, held)
  ${readTime}
  local single, ending = 's' .. length, length .. 'e'
  local used, left, ended
  if held then
    call('HDEL', key, single)
    if held == 2 then join(key) end
  else
    local alone = call('HGET', key, single)
    if alone then
      used, left = tonumber(alone) + cost, call('PTTL', key)
      if left < 0 or left > span then left = span end
    end
  end
  if not used then
    ended = call('HGET', key, ending)
    left = ended and tonumber(ended) - now or 0
    if left > span then
      left = span
      if take then call('HSET', key, ending, string.format('%.0f', now + span)) end
    end
    if left > 0 then
      if held then used = call('HINCRBY', key, length, units) else used = tonumber(call('HGET', key, length)) + cost end
    end
  end
  if not used then
    left, used = span, cost
    if held then
      forget(key)
      call('HSET', key, length, units, ending, string.format('%.0f', now + span))
      if call('PTTL', key) < span then call('PEXPIRE', key, length) end
    end
  end
  if used <= limit then return limit - used, left end
  if held then call('HINCRBY', key, length, '-' .. units) end
  return -1 - math.max(0, limit - (used - cost)), left
end
`,
  bucket: `
local now
local function quotient(of, by) return (of - math.fmod(of, by)) / by end
local function quotientUp(of, by)
  if math.fmod(of, by) > 0 then return quotient(of, by) + 1 end
  return quotient(of, by)
end
`,
} as const

const bucketRule = `
${readTime}
local field = string.format('%.0f:%.0f', limit, span)
local full = limit * ticks
local level, at, back = full, now, false
local held = call('HGET', key, field)
if held then
  local heldLevel, heldAt = string.match(held, '^(%d+):(%d+)$')
  heldLevel, heldAt = tonumber(heldLevel), tonumber(heldAt)
  if heldAt > now then
    level, back = heldLevel, true
  else
    local elapsed = quotient(now - heldAt, tick)
    if elapsed < ticks and heldLevel + elapsed * limit < full then
      level, at = heldLevel + elapsed * limit, heldAt + elapsed * tick
    end
  end
end
local allowed, ms = true, 0
if cost > limit then
  allowed, ms = false, span
elseif cost * ticks > level then
  allowed, ms = false, quotientUp(cost * ticks - level, limit) * tick - (now - at)
else
  level = level - cost * ticks
end
if take and (allowed or back) then
  call('HSET', key, field, string.format('%.0f:%.0f', level, at))
  local ttl = at - now + (quotientUp(full - level, limit) + 1) * tick
  if call('PTTL', key) < ttl then call('PEXPIRE', key, string.format('%.0f', ttl)) end
end
local remaining = quotient(level, ticks)
if not allowed then remaining = -1 - remaining end
`

const ruleOf = { window: windowRule, bucket: bucketRule } as const

/**
 * KEYS: one per request. The first ARGV has one byte per request: the index of its terms, from 0. The other ARGV are
 * the terms as text: take (1 or 0), limit, window, cost, and for a bucket ticks and milliseconds per tick. Many
 * requests have equal terms, so each combination is sent and parsed once.
 */
const reading = `
local call = redis.call
local answers = {}
local function termsOf(index)
  local text = ARGV[string.byte(ARGV[1], index) + 2]
  local take, limit, length, cost, ticks, tick = string.match(text, '^(%d) (%d+) (%d+) (%d+) ?(%d*) ?(%d*)$')
  return take == '1', tonumber(limit), tonumber(length), tonumber(cost), cost, tonumber(ticks), tonumber(tick), length
end
`

/**
 * Decides each request separately. Returns two results per request, packed into one string of little-endian doubles,
 * which is much faster than an array. If a request fails, returns an array in which its result is the error text.
 */
const oneByOne = (algorithm: QuotaAlgorithm) =>
  script(`${reading}${prelude[algorithm]}
local index = 0
local function run()
  -- Locals, for what lies outside of a function costs more to reach.
  local call, answers, keys, numbers, byte, count = call, answers, KEYS, ARGV[1], string.byte, #KEYS
  local take, limit, span, cost, units, ticks, tick, length, single, current
  while index < count do
    index = index + 1
    local number = byte(numbers, index)
    if number ~= current then
      take, limit, span, cost, units, ticks, tick, length = termsOf(index)
      current, single = number, 's' .. length
    end
    local key = keys[index]
    ${ruleOf[algorithm]}
    answers[2 * index - 1], answers[2 * index] = remaining, ms
  end
end
local failed = false
repeat
  local ran, failure = pcall(run)
  if not ran then
    failed = true
    answers[2 * index - 1], answers[2 * index] = type(failure) == 'table' and failure.err or tostring(failure), 0
  end
until ran
if failed then return answers end
return struct.pack('<' .. string.rep('d', 2 * #KEYS), unpack(answers))
`)

/**
 * Takes the costs of all requests, or no cost if one request is denied. Ignores `take`. Returns two results per
 * request.
 */
const together = (algorithm: QuotaAlgorithm) =>
  script(`${reading}${prelude[algorithm]}
local function decide(index, take)
  local key = KEYS[index]
  local _, limit, span, cost, units, ticks, tick, length = termsOf(index)
  local single = 's' .. length
  ${ruleOf[algorithm]}
  return remaining, ms, cost
end
local all = true
local costs = {}
for index = 1, #KEYS do
  local remaining, ms, cost = decide(index, false)
  all = all and remaining >= 0
  answers[2 * index - 1], answers[2 * index], costs[index] = remaining, ms, cost
end
for index = 1, #KEYS do
  if all then
    decide(index, true)
  elseif answers[2 * index - 1] >= 0 then
    answers[2 * index - 1] = answers[2 * index - 1] + costs[index]
  end
end
return answers
`)

/**
 * Decides a single request faster than a batch. KEYS: the key of the request. ARGV: the values of the request, as for
 * a batch but without `take`, because a single request always takes. Returns two results.
 */
const alone = (algorithm: QuotaAlgorithm) =>
  script(`
local call = redis.call
local key, take = KEYS[1], true
local limit, span, cost, units, ticks, tick =
  tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local length, single = ARGV[2], 's' .. ARGV[2]
${prelude[algorithm]}${ruleOf[algorithm]}
-- One number where both fit: an array costs twice as much to send and to read.
local step = span + 1
if limit * step > 4503599627370496 then return {remaining, ms} end
if remaining < 0 then return -1 - ((-1 - remaining) * step + ms) end
return remaining * step + ms
`)

const scriptsOf = (algorithm: QuotaAlgorithm) => ({
  alone: alone(algorithm),
  oneByOne: oneByOne(algorithm),
  together: together(algorithm),
})

export const quotaScripts = { window: scriptsOf('window'), bucket: scriptsOf('bucket') } as const
