import { setTimeout as pause } from 'node:timers/promises'

/** Of a wait in vain. Nobody expects it to take so long; a busy machine may come near to it. */
const patienceMs = 120_000

/**
 * Waits in real time for what databases, files, sockets and other processes have to bring about, at most two minutes.
 *
 * @param what it waits for, in the words of the error
 * @param longestPauseMs between two looks. Looks become rarer the longer it takes, so that others get more done
 * @throws Error when it has not come about by then, or what the condition throws
 */
export async function until(condition: () => unknown, what: string, longestPauseMs = 10): Promise<void> {
  const begunAt = performance.now()
  while (!(await condition())) {
    const waitedMs = performance.now() - begunAt
    if (waitedMs > patienceMs) throw new Error(`In vain: ${what}`)
    await pause(Math.min(longestPauseMs, 2 + waitedMs / 10))
  }
}
