/** Exit codes of the `plinth` program. */
export const exitCodes = {
  ok: 0,
  /** The command ran and failed. */
  failed: 1,
  /** Unknown command, option or name, missing argument. */
  usage: 2,
  /** The product was rejected before anything started: plan or configuration. */
  refused: 3,
  /** The product stopped because it requested a restart (EX_TEMPFAIL of sysexits.h). */
  restart: 75,
  /** A signal ended a command, or a second signal ended a stop in progress. */
  interrupted: 130,
} as const

/** Node.js timers overflow above this value. */
const maxTimerMs = 2 ** 31 - 1

/** Runs work that SIGINT and SIGTERM cancel; a second signal ends the process immediately. */
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

/** Keeps the process alive until the work ends, even if the product has no open handle. */
export async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const alive = setInterval(() => {}, maxTimerMs)
  return work.finally(() => clearInterval(alive))
}

/** True after the program ends the process itself. A process ends once, so the variable is global. */
let isExpected = false

/** Allows the process to end from now on. */
export function expectEnd(): void {
  isExpected = true
}

/** Ends the process on behalf of the program. A call of `process.exit()` by other code is a crash. */
export function endProcess(exitCode?: number): never {
  expectEnd()
  process.exit(exitCode)
}

/**
 * Calls the listener if the process ends before the program expects it: a plugin or a library called `process.exit()`,
 * or no work was left. The exit code is then 1. The listener must be synchronous; its stack contains the frames of the
 * code that ended the process.
 */
export function onUnexpectedEnd(listener: (exitCode: number) => void): void {
  process.on('exit', (exitCode) => {
    if (isExpected) return
    process.exitCode = exitCodes.failed
    listener(exitCode)
  })
}
