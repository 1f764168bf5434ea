import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

/** Of a wait in vain. Nobody expects it to take so long; a busy machine may come near to it. */
const defaultPatienceMs = 120_000

/**
 * Waits in real time until databases, files, sockets or other processes fulfil a condition, at most two minutes by default.
 *
 * @param what the condition, in the words of the error
 * @param longestPauseMs between two checks. They become rarer the longer it takes, so that others get more done. With 0 the
 *   condition is checked in each turn of the event loop
 * @param patienceMs longest wait
 * @throws Error when it is not fulfilled in time, or what the condition throws
 */
export async function until(
  condition: () => unknown,
  what: string,
  longestPauseMs = 10,
  patienceMs = defaultPatienceMs,
): Promise<void> {
  const begunAt = performance.now()
  while (!(await condition())) {
    const waitedMs = performance.now() - begunAt
    if (waitedMs > patienceMs) throw new Error(`In vain: ${what}`)
    await (longestPauseMs === 0 ? nextTurn() : pause(Math.min(longestPauseMs, 2 + waitedMs / 10)))
  }
}
