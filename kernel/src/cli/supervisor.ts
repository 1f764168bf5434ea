import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { defined } from '@plinth/config-schema'
import { type Clock, systemClock } from '../time/clock.ts'
import { exitCodes } from './process-end.ts'
import { markedEnvironment, type ReadyMessage, readsInput, type StopMessage } from './supervisor-link.ts'

/** How often a product may ask for a restart within `restartWindowMs`. */
const mostRestarts = 5
const restartWindowMs = 60_000

/** The crash that ends it all, counted over `crashWindowMs`. */
const mostCrashes = 8
const crashWindowMs = 10 * 60_000
/** Pause before a crashed product is started again; twice as long with each crash in the window. */
const firstPauseMs = 1000
const longestPauseMs = 60_000

/** Ends of a start that another start would not change: wrong command line, rejected plan or configuration. */
const endsForGood: ReadonlySet<number> = new Set([exitCodes.usage, exitCodes.refused])

/** Counts events of the last `windowMs` milliseconds, the one that happens now included. */
function recentCount(windowMs: number): (now: number) => number {
  let times: number[] = []
  return (now) => {
    times = [...times.filter((at) => now - at < windowMs), now]
    return times.length
  }
}

/**
 * Runs a program in a child process and returns the exit code that it ends with. Starts it again at once when it ends with
 * the exit code `restart`, and after a growing pause when it crashed after it had been ready once. A program that served and
 * ends without being told to has crashed, also with the exit code 0 or by a signal that it sent to itself. SIGTERM and SIGINT are
 * passed on once, and end a pause; a second signal kills. The child sees by its channel when this process is gone.
 *
 * @param input what each child finds on its standard input; absent: that of this process
 * @throws PlinthError `PLINTH_RESTART_LOOP`, `PLINTH_CRASH_LOOP`
 */
export async function supervise(
  program: string,
  words: readonly string[],
  clock: Clock = systemClock,
  input?: Buffer,
): Promise<number> {
  const restarts = recentCount(restartWindowMs)
  const crashes = recentCount(crashWindowMs)
  const asked = new AbortController()
  let child: ChildProcess | undefined
  let isKilled = false
  let wasReady = false
  const onSignal = (stop: NodeJS.Signals) => {
    if (asked.signal.aborted) isKilled = child?.kill('SIGKILL') ?? false
    // Not as a signal: a terminal and systemd send theirs to the child as well, and it would seem to be the second one.
    else child?.send({ stop } satisfies StopMessage, () => {})
    asked.abort()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    for (;;) {
      child = fork(
        program,
        words,
        defined({
          env: markedEnvironment(process.env),
          stdio: input === undefined ? undefined : ['pipe', 'inherit', 'inherit', 'ipc'],
        }),
      )
      // A child that ends without reading it says why by itself.
      child.stdin?.on('error', () => {}).end(input)
      let isReady = false
      child.on('message', (_message: ReadyMessage) => {
        isReady = true
        wasReady = true
      })
      // What the child sent last may arrive after its end, but before its channel closes.
      const [[code, signal]] = await Promise.all([
        once(child, 'exit') as Promise<[number | null, NodeJS.Signals]>,
        once(child, 'disconnect'),
      ])
      const end = code ?? 128 + constants.signals[signal]
      if (isKilled) return exitCodes.interrupted
      if (asked.signal.aborted) return isStopped(end, signal, wasReady) ? exitCodes.ok : end
      if (end === exitCodes.restart) {
        if (restarts(clock.monotonic()) > mostRestarts) throw await restartLoop()
        continue
      }
      // A product that served and was not told to stop has crashed, whatever its exit code.
      if (!wasReady || (!isReady && endsForGood.has(end))) return end
      const count = crashes(clock.monotonic())
      if (count >= mostCrashes) throw await crashLoop()
      const pauseMs = Math.min(firstPauseMs * 2 ** (count - 1), longestPauseMs)
      const how = signal === null ? `exit code ${end}` : signal
      process.stderr.write(
        `The product crashed (${how}), ${count} of at most ${mostCrashes} times within ${crashWindowMs / 60_000} minutes. ` +
          `It is started again in ${pauseMs / 1000} s.\n`,
      )
      await clock.sleep(pauseMs, asked.signal)
      if (asked.signal.aborted) return exitCodes.ok
    }
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

/**
 * Whether a product that was told to stop has done so. It listens to signals for as long as it runs any code, so one that
 * killed it came when there was nothing left to do: a terminal's own copy, while Node.js was taking itself apart.
 */
function isStopped(end: number, signal: NodeJS.Signals | null, wasReady: boolean): boolean {
  return end === exitCodes.restart || (wasReady && (signal === 'SIGINT' || signal === 'SIGTERM'))
}

/** Loads the kernel's errors only now. */
async function restartLoop(): Promise<Error> {
  const { kernelError } = await import('../errors/kernel-errors.ts')
  return kernelError('PLINTH_RESTART_LOOP', { count: mostRestarts + 1, seconds: restartWindowMs / 1000 })
}

async function crashLoop(): Promise<Error> {
  const { kernelError } = await import('../errors/kernel-errors.ts')
  return kernelError('PLINTH_CRASH_LOOP', { count: mostCrashes, minutes: crashWindowMs / 60_000 })
}

/** This process as the supervisor of its own program. */
export async function superviseProcess(words: readonly string[]): Promise<void> {
  try {
    // Standard input can be read once, and the product may be started many times.
    const input = readsInput(words) ? readFileSync(0) : undefined
    process.exitCode = await supervise(process.argv[1] ?? '', words, systemClock, input)
  } catch (error) {
    const { createOutput } = await import('./output.ts')
    createOutput(process, words.includes('--json')).failure(error)
    process.exitCode = exitCodes.failed
  }
}
