import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Times in milliseconds. */
export interface MillionKeysTimes {
  readonly bytesPerKey: number
  /** CPU time of an insert in microseconds, user and system time together. */
  readonly insertCpuMicroseconds: number
  readonly fewP999: number
  readonly manyP50: number
  readonly manyP999: number
  readonly turnP999: number
  readonly turnMost: number
}

const count = 1_000_000
const windowMs = 30_000
const samples = 300_000
const callsPerTurn = 32

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Returns the bytes of the heap and of external buffers. */
function bytes(): number {
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const quantile = (sorted: Float64Array, part: number) => sorted[Math.floor(part * sorted.length)] ?? 0

/**
 * Returns a key of 45 characters, as long as a prefix with a hashed caller. It is a new string each time, as in
 * requests.
 */
const keyAt = (index: number) => `rate-limit:web:user:${`${index}`.padStart(25, '0')}`

/**
 * Measures one limiter with a million keys and sends the result to the parent process.
 * @param make creates a limiter with this window in ms; the limiter returns a promise or a value
 */
export async function measureKeys(make: (windowMs: number) => (key: string) => unknown): Promise<void> {
  const few = make(3_600_000)
  const timed = async (consume: (key: string) => unknown, keys: number) => {
    const times = new Float64Array(samples)
    for (let index = 0; index < samples; index++) {
      const key = keyAt((index * 7919) % keys)
      const startedAt = performance.now()
      await consume(key)
      times[index] = performance.now() - startedAt
    }
    return times.sort()
  }
  await timed(few, 1000)
  const fewTimes = await timed(few, 1000)

  const before = bytes()
  const consume = make(windowMs)
  const startedAt = performance.now()
  const cpuAtStart = process.cpuUsage()
  for (let index = 0; index < count; index++) await consume(keyAt(index))
  const insertedMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpuAtStart)
  const bytesPerKey = (bytes() - before) / count
  const manyTimes = await timed(consume, count)

  // The calls begin before the first window ends and continue until all windows have ended, as on a server under
  // continuous load.
  await new Promise((resolve) => setTimeout(resolve, Math.max(1, startedAt + windowMs - 500 - performance.now())))
  const turns: number[] = []
  const until = startedAt + insertedMs + windowMs + 2000
  for (let at = performance.now(); at < until; ) {
    for (let call = 0; call < callsPerTurn; call++) await few(keyAt(call))
    await consume('one that goes on')
    await new Promise((resolve) => setImmediate(resolve))
    const now = performance.now()
    turns.push(now - at)
    at = now
  }
  const sortedTurns = Float64Array.from(turns).sort()
  const reported: MillionKeysTimes = {
    bytesPerKey,
    insertCpuMicroseconds: (user + system) / count,
    fewP999: quantile(fewTimes, 0.999),
    manyP50: quantile(manyTimes, 0.5),
    manyP999: quantile(manyTimes, 0.999),
    turnP999: quantile(sortedTurns, 0.999),
    turnMost: sortedTurns.at(-1) ?? 0,
  }
  process.send?.(reported)
}
