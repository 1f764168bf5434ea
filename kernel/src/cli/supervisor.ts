import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { defined } from '@plinth/config-schema'
import { type Clock, systemClock } from '../time/clock.ts'
import { exitCodes } from './process-end.ts'
import {
  type FailureMessage,
  type ReadyMessage,
  readsInput,
  type StopMessage,
  withSupervisorMode,
} from './supervisor-link.ts'

/** Maximum number of requested restarts within `restartWindowMs`. */
const maxRestarts = 5
const restartWindowMs = 60_000

/** Number of crashes within `crashWindowMs` at which the supervisor ends. */
const maxCrashes = 8
const crashWindowMs = 10 * 60_000
/** Pause before a crashed product is started again; doubled with each crash in the window. */
const firstPauseMs = 1000
const maxPauseMs = 60_000

/** Exit codes that another start would not change: invalid command line, rejected plan or configuration. */
const endsForGood: ReadonlySet<number> = new Set([exitCodes.usage, exitCodes.refused])

/** Counts events of the last `windowMs` milliseconds, including the current one. */
function recentCount(windowMs: number): (now: number) => number {
  let times: number[] = []
  return (now) => {
    times = [...times.filter((at) => now - at < windowMs), now]
    return times.length
  }
}

/**
 * Runs a program in a child process and returns its exit code. Starts it again immediately if it ends with the exit
 * code `restart`, and after an increasing pause if it crashed after it had been ready once. A program that served and
 * ends without a request has crashed, even with the exit code 0 or by a signal that it sent to itself. SIGTERM and
 * SIGINT are passed on once, and end a pause; a second signal kills. The child notices the end of this process by its
 * channel.
 *
 * @param input content of the standard input of each child; when absent, that of this process
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
  const requested = new AbortController()
  let child: ChildProcess | undefined
  let isKilled = false
  let wasReady = false
  const onSignal = (stop: NodeJS.Signals) => {
    if (requested.signal.aborted) isKilled = child?.kill('SIGKILL') ?? false
    // Not as a signal: a terminal and systemd also send theirs to the child, which would treat this one as the second.
    else child?.send({ stop } satisfies StopMessage, () => {})
    requested.abort()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    for (;;) {
      child = fork(
        program,
        words,
        defined({
          env: withSupervisorMode(process.env, 'start'),
          stdio: input === undefined ? undefined : ['pipe', 'inherit', 'inherit', 'ipc'],
        }),
      )
      // A child that ends without reading reports the reason itself.
      child.stdin?.on('error', () => {}).end(input)
      let isReady = false
      child.on('message', (message: ReadyMessage | FailureMessage) => {
        if (!('ready' in message)) return
        isReady = true
        wasReady = true
      })
      // The last messages of the child may arrive after its end, but before its channel closes.
      const [[code, signal]] = await Promise.all([
        once(child, 'exit') as Promise<[number | null, NodeJS.Signals]>,
        once(child, 'disconnect'),
      ])
      const end = code ?? 128 + constants.signals[signal]
      if (isKilled) return exitCodes.interrupted
      if (requested.signal.aborted) return isStopped(end, signal, wasReady) ? exitCodes.ok : end
      if (end === exitCodes.restart) {
        if (restarts(clock.monotonic()) > maxRestarts) throw await restartLoop()
        continue
      }
      // A product that served and was not requested to stop has crashed, with any exit code.
      if (!wasReady || (!isReady && endsForGood.has(end))) return end
      const count = crashes(clock.monotonic())
      if (count >= maxCrashes) throw await crashLoop()
      const pauseMs = Math.min(firstPauseMs * 2 ** (count - 1), maxPauseMs)
      const how = signal === null ? `exit code ${end}` : signal
      process.stderr.write(
        `The product crashed (${how}), ${count} of at most ${maxCrashes} times within ${crashWindowMs / 60_000} minutes. ` +
          `It is started again in ${pauseMs / 1000} s.\n`,
      )
      await clock.sleep(pauseMs, requested.signal)
      if (requested.signal.aborted) return exitCodes.ok
    }
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

/**
 * Returns whether a product that was requested to stop has stopped. It handles signals while it runs code. A signal
 * that killed it therefore arrived after its work, for example from the terminal while Node.js was shutting down.
 */
function isStopped(end: number, signal: NodeJS.Signals | null, wasReady: boolean): boolean {
  return end === exitCodes.restart || (wasReady && (signal === 'SIGINT' || signal === 'SIGTERM'))
}

/** Loads the errors of the kernel only when needed. */
async function restartLoop(): Promise<Error> {
  const { kernelError } = await import('../errors/kernel-errors.ts')
  return kernelError('PLINTH_RESTART_LOOP', { count: maxRestarts + 1, seconds: restartWindowMs / 1000 })
}

async function crashLoop(): Promise<Error> {
  const { kernelError } = await import('../errors/kernel-errors.ts')
  return kernelError('PLINTH_CRASH_LOOP', { count: maxCrashes, minutes: crashWindowMs / 60_000 })
}

/**
 * Closes the inspector that `node --inspect` or `NODE_OPTIONS` opened in this process. The process of the product gets
 * the same flags and opens it at the same address.
 *
 * @returns whether it was open
 */
export async function passInspectorOn(): Promise<boolean> {
  const { close, url } = await import('node:inspector')
  const isOpen = url() !== undefined
  if (isOpen) close()
  return isOpen
}

/** Runs this process as the supervisor of its own program. */
export async function superviseProcess(words: readonly string[]): Promise<void> {
  try {
    await passInspectorOn()
    // Standard input can be read only once, but the product may be started several times.
    const input = readsInput(words) ? readFileSync(0) : undefined
    process.exitCode = await supervise(process.argv[1] ?? '', words, systemClock, input)
  } catch (error) {
    const { createOutput } = await import('./output.ts')
    createOutput(process, words.includes('--json')).failure(error)
    process.exitCode = exitCodes.failed
  }
}
