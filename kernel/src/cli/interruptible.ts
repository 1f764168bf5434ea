import { exitCodes } from './exit-codes.ts'
import { endProcess } from './process-end.ts'

/** Node.js timers overflow above this. */
const longestTimer = 2 ** 31 - 1

/** Runs work that SIGINT and SIGTERM ask to end; a second signal ends the process at once. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const onSignal = (name: NodeJS.Signals) => {
    if (interrupt.signal.aborted) endProcess(exitCodes.interrupted)
    interrupt.abort(new Error(`${name} received`))
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    return await keptAlive(work(interrupt.signal))
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

/** The process lives as long as the work: a product that holds no handle of its own must not end before it is told to. */
export async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const alive = setInterval(() => {}, longestTimer)
  return work.finally(() => clearInterval(alive))
}
