/** Exit codes of the `plinth` program. */
export const exitCodes = {
  ok: 0,
  /** It ran and failed. */
  failed: 1,
  /** Unknown command, option or name, missing argument. */
  usage: 2,
  /** The product was refused before anything started: plan or configuration. */
  refused: 3,
  /** The product stopped because it wants to be started again (EX_TEMPFAIL of sysexits.h). */
  restart: 75,
  /** A signal ended a command, or a second one ended a stop that was under way. */
  interrupted: 130,
} as const

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

/** True once the program itself ends the process. A process ends once, so this belongs to the module. */
let isExpected = false

/** From now on the process may end. */
export function expectEnd(): void {
  isExpected = true
}

/** Ends the process on behalf of the program. Other code that calls `process.exit()` has crashed the process. */
export function endProcess(exitCode?: number): never {
  expectEnd()
  process.exit(exitCode)
}

/**
 * Calls the listener when the process ends before the program expects it: code of a plugin or a library called
 * `process.exit()`, or nothing was left that could happen. The exit code is then 1. The listener must be synchronous; its
 * stack contains the frames of the code that ended the process.
 */
export function onUnexpectedEnd(listener: (exitCode: number) => void): void {
  process.on('exit', (exitCode) => {
    if (isExpected) return
    process.exitCode = exitCodes.failed
    listener(exitCode)
  })
}
