/** Exit codes of the `plinth` program. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  /** Unknown command, option or name, or missing argument. */
  usage: 2,
  /** The plan or the configuration of the product has problems, so nothing was started. */
  refused: 3,
  /** The product stopped because it requested a restart. The number is EX_TEMPFAIL of sysexits.h. */
  restart: 75,
  /** A signal ended a command, or a second signal ended a product that was stopping. */
  interrupted: 130,
} as const

/** Maximum delay of a Node.js timer. A timer with a longer delay fires immediately. */
const maxTimerMs = 2 ** 31 - 1

/** Runs work whose signal aborts at the first SIGINT or SIGTERM. A second signal ends the process immediately. */
export async function runInterruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const onSignal = (name: NodeJS.Signals) => {
    if (interrupt.signal.aborted) endProcess(exitCodes.interrupted)
    interrupt.abort(new Error(`${name} received`))
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    return await keepProcessAlive(work(interrupt.signal))
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

/** Keeps the process alive until the work ends, even if no timer or connection is open. */
export async function keepProcessAlive<T>(work: Promise<T>): Promise<T> {
  const alive = setInterval(() => {}, maxTimerMs)
  return work.finally(() => clearInterval(alive))
}

/** True if the program itself ends the process. Global, because a process ends only once. */
let isExpected = false

/** Declares that the program itself may now end the process, so that the end is not reported as a crash. */
export function markProcessEndExpected(): void {
  isExpected = true
}

/**
 * Ends the process as requested by the program. If other code calls `process.exit()`, the end is treated as a crash.
 */
export function endProcess(exitCode?: number): never {
  markProcessEndExpected()
  process.exit(exitCode)
}

/**
 * Calls the listener if the process ends unexpectedly: a plugin or a library called `process.exit()`, or no work was
 * left. The exit code is then 1. The listener must be synchronous. Its stack contains the code that ended the process.
 */
export function onUnexpectedProcessEnd(listener: (exitCode: number) => void): void {
  process.on('exit', (exitCode) => {
    if (isExpected) return
    process.exitCode = exitCodes.failed
    listener(exitCode)
  })
}
