import type { Clock } from './clock.ts'

/** One reason for all ends: without one, each end would make an exception with a stack. */
const over = new Error('The work is over')

/**
 * Runs work under a deadline. When the deadline passes, the work's signal aborts and `late` makes the error; when `outer`
 * aborts, the same happens with its reason. Whatever the work still does then is left to end by itself.
 *
 * @param ms deadline in milliseconds
 */
export async function withinDeadline<T>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => T | Promise<T>,
  late: () => Error,
  outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted()
  const finished = new AbortController()
  const given = new AbortController()
  const givenUp = new Promise<never>((_, reject) => {
    given.signal.addEventListener('abort', () => reject(given.signal.reason))
  })
  outer?.addEventListener('abort', () => given.abort(outer.reason), { signal: finished.signal })
  clock.sleep(ms, finished.signal).then(() => {
    if (!finished.signal.aborted) given.abort(late())
  })
  try {
    return await Promise.race([Promise.resolve().then(() => work(given.signal)), givenUp])
  } finally {
    finished.abort(over)
  }
}
