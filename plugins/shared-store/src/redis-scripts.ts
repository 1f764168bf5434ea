import { createHash } from 'node:crypto'
import type { QuotaAlgorithm } from './contract.ts'

/** A Lua script. Its keys come in KEYS only; its numbers arrive as decimal text and leave as integers. */
export interface Script {
  readonly text: string
  readonly sha: string
}

const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') })

/** KEYS: counter. ARGV: by, ttl. A counter that lost its time to live would never end, so it gets one. */
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
 * KEYS: lock, fence. ARGV: owner, lease. The fence is the time in microseconds, or one more than the last one: it keeps
 * growing when Redis comes back empty, and when its clock goes back.
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

/** KEYS: lock. ARGV: owner, lease; without a lease the lock is released. */
export const holdScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('DEL', KEYS[1])
`)

/**
 * How a quota is decided, as Lua; the rules are those of `quota-rules.ts`. It reads `key`, `take` and the terms of the
 * request, and gives two numbers: what remains, as -1 - remaining for a denial, and milliseconds, of a window what is left
 * of it, of a bucket the wait.
 *
 * @param give how the two leave
 */
const windowRule = (give: Give) => `
local taken = take and cost <= limit
local used
if taken then used = call('INCRBY', key, cost) else used = tonumber(call('GET', key) or '0') + cost end
local left = call('PTTL', key)
if left < 0 or left > span then
  left = span
  if take and used > (taken and 0 or cost) then call('PEXPIRE', key, span) end
end
if used <= limit then ${give('limit - used', 'left')} end
if taken then call('DECRBY', key, cost) end
${give('-1 - math.max(0, limit - (used - cost))', 'left')}
`

const bucketRule = (give: Give) => `
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local function quotient(of, by) return (of - math.fmod(of, by)) / by end
local function quotientUp(of, by)
  if math.fmod(of, by) > 0 then return quotient(of, by) + 1 end
  return quotient(of, by)
end
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
local allowed, wait = true, 0
if cost > limit then
  allowed, wait = false, span
elseif cost * ticks > level then
  allowed, wait = false, quotientUp(cost * ticks - level, limit) * tick - (now - at)
else
  level = level - cost * ticks
end
if take and (allowed or back) then
  call('HSET', key, field, string.format('%.0f:%.0f', level, at))
  local ttl = at - now + (quotientUp(full - level, limit) + 1) * tick
  if call('PTTL', key) < ttl then call('PEXPIRE', key, string.format('%.0f', ttl)) end
end
if allowed then ${give('quotient(level, ticks)', 'wait')} end
${give('-1 - quotient(level, ticks)', 'wait')}
`

type Give = (remaining: string, ms: string) => string
const ruleOf = { window: windowRule, bucket: bucketRule } as const

/** The rule as a function for scripts that decide more than once. */
const decide = (algorithm: QuotaAlgorithm) => `
local now
local function decide(key, take)
${ruleOf[algorithm]((remaining, ms) => `return ${remaining}, ${ms}`)}
end
`

/**
 * KEYS: one per element. ARGV: first one byte per element, the number of its terms from 0; then the terms, each as text:
 * take (1 or 0), limit, window, cost, and for a bucket ticks and milliseconds of a tick. Few elements differ in their terms, so these are sent
 * and read once.
 */
const reading = `
local call = redis.call
local answers = {}
local take, limit, span, cost, ticks, tick
local function read(text)
  take, limit, span, cost, ticks, tick = string.match(text, '^(%d) (%d+) (%d+) (%d+) ?(%d*) ?(%d*)$')
  take, limit, span, cost, ticks, tick =
    take == '1', tonumber(limit), tonumber(span), tonumber(cost), tonumber(ticks), tonumber(tick)
end
`

/** Each element is decided alone, and fails alone: then its answer is text. Two answers of each element. */
const oneByOne = `
local index = 0
local current
local function run()
  while index < #KEYS do
    index = index + 1
    local number = string.byte(ARGV[1], index)
    if number ~= current then
      read(ARGV[number + 2])
      current = number
    end
    local remaining, ms = decide(KEYS[index], take)
    answers[2 * index - 1], answers[2 * index] = remaining, ms
  end
end
repeat
  local ran, failure = pcall(run)
  if not ran then
    answers[2 * index - 1], answers[2 * index] = type(failure) == 'table' and failure.err or tostring(failure), 0
  end
until ran
return answers
`

/** Takes all, or nothing when one is denied; `take` of the terms is not heeded. Two answers of each element. */
const together = `
local all = true
local costs = {}
for index = 1, #KEYS do
  read(ARGV[string.byte(ARGV[1], index) + 2])
  local remaining, ms = decide(KEYS[index], false)
  all = all and remaining >= 0
  answers[2 * index - 1], answers[2 * index], costs[index] = remaining, ms, cost
end
for index = 1, #KEYS do
  if all then
    read(ARGV[string.byte(ARGV[1], index) + 2])
    decide(KEYS[index], true)
  elseif answers[2 * index - 1] >= 0 then
    answers[2 * index - 1] = answers[2 * index - 1] + costs[index]
  end
end
return answers
`

const manyScript = (algorithm: QuotaAlgorithm, running: string) => script(reading + decide(algorithm) + running)

/** One element, without the detour. KEYS: one. ARGV: its terms without `take`, for it takes. Two answers. */
const aloneScript = (algorithm: QuotaAlgorithm) =>
  script(`
local call = redis.call
local now
local key, take = KEYS[1], true
local limit, span, cost, ticks, tick =
  tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
${ruleOf[algorithm]((remaining, ms) => `do return {${remaining}, ${ms}} end`)}
`)

const quotaScriptsOf = (algorithm: QuotaAlgorithm) => ({
  alone: aloneScript(algorithm),
  oneByOne: manyScript(algorithm, oneByOne),
  together: manyScript(algorithm, together),
})

export const quotaScripts = { window: quotaScriptsOf('window'), bucket: quotaScriptsOf('bucket') } as const
