import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { omitUndefined } from '@plinth/config-schema'
import { type Clock, systemClock } from '../time/clock.ts'
import { exitCodes } from './process-end.ts'
import {
  type FailureMessage,
  type ReadyMessage,
  readsStandardInput,
  type StopMessage,
  withSupervisorMode,
} from './supervisor-link.ts'

/** Maximum number of requested restarts within `restartWindowMs`. */
const maxRestarts = 5
const restartWindowMs = 60_000

/** Number of crashes within `crashWindowMs` after which the supervisor ends. */
const maxCrashes = 8
const crashWindowMs = 10 * 60_000
/** Pause before the restart after a crash, in milliseconds. It doubles with each crash within `crashWindowMs`. */
const firstPauseMs = 1000
const maxPauseMs = 60_000

/** Exit codes after which a restart is useless: the command line, the plan or the configuration is invalid. */
const finalExitCodes: ReadonlySet<number> = new Set([exitCodes.usage, exitCodes.refused])

/** Returns a function that counts its calls in the last `windowMs` milliseconds. */
function recentCount(windowMs: number): (now: number) => number {
  let times: number[] = []
  return (now) => {
    times = [...times.filter((at) => now - at < windowMs), now]
    return times.length
  }
}

/**
 * Runs a program in a child process and returns its exit code. Restarts it immediately if it ends with the exit code
 * `restart`. Restarts it after an increasing pause if it crashes after it was ready. A program that was ready and ends
 * without a request has crashed, even with exit code 0. The first SIGTERM or SIGINT stops the program and ends a pause;
 * a second one kills it. If this process ends, the channel to the child closes, and the child stops.
 *
 * @param input standard input of each child; if absent, the child uses the standard input of this process
 * @throws PlinthError `PLINTH_RESTART_LOOP`, `PLINTH_CRASH_LOOP`
 */
export async function runSupervised(
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
    // The stop is sent as a message, not as a signal. A terminal and systemd also signal the child, and it would treat
    // another signal as the second one.
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
        omitUndefined({
          env: withSupervisorMode(process.env, 'start'),
          stdio: input === undefined ? undefined : ['pipe', 'inherit', 'inherit', 'ipc'],
        }),
      )
      // If the child ends before it reads its input, the write fails. The child itself reports why it ended.
      child.stdin?.on('error', () => {}).end(input)
      let isReady = false
      child.on('message', (message: ReadyMessage | FailureMessage) => {
        if (!('ready' in message)) return
        isReady = true
        wasReady = true
      })
      // The last messages may arrive after the end of the child, but before its channel closes.
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
      // A product that was ready and ends without a request has crashed, whatever its exit code is.
      if (!wasReady || (!isReady && finalExitCodes.has(end))) return end
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
 * Returns true if a product has stopped after a request. While it runs code, it handles signals itself. A signal that
 * killed it therefore arrived after its work, for example while Node.js was shutting down.
 */
function isStopped(end: number, signal: NodeJS.Signals | null, wasReady: boolean): boolean {
  return end === exitCodes.restart || (wasReady && (signal === 'SIGINT' || signal === 'SIGTERM'))
}

/** Imports the errors of the kernel only when needed, to save memory in the supervisor. */
async function restartLoop(): Promise<Error> {
  const { kernelError } = await import('../errors/kernel-errors.ts')
  return kernelError('PLINTH_RESTART_LOOP', { count: maxRestarts + 1, seconds: restartWindowMs / 1000 })
}

async function crashLoop(): Promise<Error> {
  const { kernelError } = await import('../errors/kernel-errors.ts')
  return kernelError('PLINTH_CRASH_LOOP', { count: maxCrashes, minutes: crashWindowMs / 60_000 })
}

/**
 * Closes the inspector of this process that `node --inspect` or `NODE_OPTIONS` opened. The process of the product
 * receives the same options and opens it at the same address.
 *
 * @returns true if the inspector was open
 */
export async function closeInspectorForChild(): Promise<boolean> {
  const { close, url } = await import('node:inspector')
  const isOpen = url() !== undefined
  if (isOpen) close()
  return isOpen
}

/** Runs this process as the supervisor of its own program. */
export async function superviseProcess(words: readonly string[]): Promise<void> {
  try {
    await closeInspectorForChild()
    // Standard input can be read only once, but the product may start several times.
    const input = readsStandardInput(words) ? readFileSync(0) : undefined
    process.exitCode = await runSupervised(process.argv[1] ?? '', words, systemClock, input)
  } catch (error) {
    const { createOutput } = await import('./output.ts')
    createOutput(process, words.includes('--json')).failure(error)
    process.exitCode = exitCodes.failed
  }
}
