import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { type Clock, systemClock } from '../clock.ts'
import { exitCodes } from './exit-codes.ts'
import { markedEnvironment, type StopMessage } from './supervisor-link.ts'

/** How often a product may ask for a restart within `restartWindowMs`. */
const mostRestarts = 5
const restartWindowMs = 60_000

/**
 * Runs a program in a child process, starts it again whenever it ends with the exit code `restart`, and answers the exit
 * code that it ends with otherwise. SIGTERM and SIGINT are passed on once; a second signal kills. The child sees by its
 * channel when this process is gone.
 *
 * @throws PlinthError `PLINTH_RESTART_LOOP`
 */
export async function supervise(
  program: string,
  words: readonly string[],
  clock: Clock = systemClock,
): Promise<number> {
  const requestedAt: number[] = []
  let child: ChildProcess | undefined
  let isAsked = false
  let isKilled = false
  const onSignal = (stop: NodeJS.Signals) => {
    if (isAsked) isKilled = child?.kill('SIGKILL') ?? false
    // Not as a signal: a terminal and systemd send theirs to the child as well, and it would seem to be the second one.
    else child?.send({ stop } satisfies StopMessage, () => {})
    isAsked = true
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    for (;;) {
      child = fork(program, words, { env: markedEnvironment(process.env) })
      const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals]
      if (isKilled) return exitCodes.interrupted
      if (code !== exitCodes.restart) return code ?? 128 + constants.signals[signal]
      if (isAsked) return exitCodes.ok
      const now = clock.monotonic()
      requestedAt.push(now)
      if (requestedAt.filter((at) => now - at < restartWindowMs).length > mostRestarts) throw await restartLoop()
    }
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

/** Loads the kernel's errors only now. */
async function restartLoop(): Promise<Error> {
  const { kernelError } = await import('../errors.ts')
  return kernelError('PLINTH_RESTART_LOOP', { count: mostRestarts + 1, seconds: restartWindowMs / 1000 })
}

/** This process as the supervisor of its own program. */
export async function superviseProcess(words: readonly string[]): Promise<void> {
  try {
    process.exitCode = await supervise(process.argv[1] ?? '', words)
  } catch (error) {
    const { createOutput } = await import('./output.ts')
    createOutput(process, words.includes('--json')).failure(error)
    process.exitCode = exitCodes.failed
  }
}
