import { exitCodes } from './exit-codes.ts'

/** Node.js timers overflow above this. */
const longestTimer = 2 ** 31 - 1

/**
 * Runs work that SIGINT and SIGTERM ask to end; a second signal ends the process at once. The process lives as long as
 * the work: a product that holds no handle of its own must not end before it is told to.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const onSignal = (name: NodeJS.Signals) => {
    if (interrupt.signal.aborted) process.exit(exitCodes.interrupted)
    interrupt.abort(new Error(`${name} received`))
  }
  const alive = setInterval(() => {}, longestTimer)
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    return await work(interrupt.signal)
  } finally {
    clearInterval(alive)
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}
