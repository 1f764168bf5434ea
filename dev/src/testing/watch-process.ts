import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { errorReason } from '@plinth/kernel'

/** Maximum milliseconds of a wait. Long enough for a busy machine. */
const defaultPatienceMs = 120_000

/**
 * Waits in real time until a condition is true, for example about a file or another process. The default maximum is two
 * minutes.
 *
 * @param what description of the condition for the error
 * @param maxPauseMs maximum pause between two checks in milliseconds. Pauses increase, to leave time for other work.
 * With 0, the condition is checked in each tick of the event loop
 * @param patienceMs maximum wait in milliseconds
 * @throws Error after the maximum wait, or the error of the condition
 */
export async function until(
  condition: () => unknown,
  what: string,
  maxPauseMs = 10,
  patienceMs = defaultPatienceMs,
): Promise<void> {
  const begunAt = performance.now()
  while (!(await condition())) {
    const waitedMs = performance.now() - begunAt
    if (waitedMs > patienceMs) throw new Error(`In vain: ${what}`)
    await (maxPauseMs === 0 ? nextTurn() : pause(Math.min(maxPauseMs, 2 + waitedMs / 10)))
  }
}

/** Maximum milliseconds of a wait for a process. On a busy machine, a whole product may need minutes to start. */
const patienceMs = 300_000

/** Exit code and signal. */
export type ProcessEnd = readonly [number | null, NodeJS.Signals | null]

/** A process that a test started. A wait for it fails when the process ends, or after five minutes. */
export interface WatchedProcess {
  readonly child: ChildProcess
  /** Messages that the process has sent so far. */
  readonly messages: readonly unknown[]
  output(): string
  /**
   * Waits until a condition is true.
   *
   * @param what description of the condition for the error
   * @returns the result of the condition
   * @throws Error with the output, if the process ends first or the wait takes too long
   */
  until<T>(condition: () => T, what: string): Promise<NonNullable<Awaited<T>>>
  /**
   * Waits until the process has ended and all its output and messages have been read.
   *
   * @throws Error if the wait takes too long
   */
  ended(): Promise<ProcessEnd>
  /** Sends a signal to the process, unless it has ended, and waits until it exits. */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<ProcessEnd>
}

/** The result of a process that has ended. */
export interface ProcessOutcome {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Waits for the end of a process and returns its output. Call it directly after the process was started.
 *
 * @throws Error with the output, if the process runs longer than five minutes; the process is then killed
 */
export async function waitForProcessEnd(child: ChildProcess): Promise<ProcessOutcome> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.on('data', (text: string) => {
    stderr += text
  })
  const [code, signal] = await watchProcess({ teardown: () => {} }, child).ended()
  return { code, signal, stdout, stderr }
}

/**
 * Reads the output and the messages of a process that was just started. Kills the process at the end of the test.
 *
 * @example
 * const worker = watchProcess(t, fork(program, words, { silent: true }))
 * await worker.until(() => worker.messages.includes('started'), 'the worker has started')
 */
export function watchProcess(t: { teardown(work: () => unknown): void }, child: ChildProcess): WatchedProcess {
  const messages: unknown[] = []
  let output = ''
  let end: ProcessEnd | undefined
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  child.on('message', (message) => messages.push(message))
  child.on('error', (error) => {
    output += `${error}\n`
  })
  // Uses the event `close`, because the event `exit` could come before the last output and the last messages.
  child.on('close', (code, signal) => {
    end = [code, signal]
  })
  t.teardown(async () => {
    if (child.kill('SIGKILL')) await once(child, 'exit')
  })
  const waitFor = async (condition: () => unknown, what: string) => {
    try {
      await until(condition, what, 50, patienceMs)
    } catch (error) {
      child.kill('SIGKILL')
      throw new Error(`${errorReason(error)}\n${output}`, { cause: error })
    }
  }
  const ended = async (): Promise<ProcessEnd> => {
    await waitFor(() => end, 'the process ends')
    return end as ProcessEnd
  }
  return {
    child,
    messages,
    output: () => output,
    async until(condition, what) {
      let found: unknown
      const isFulfilled = async () => {
        const endedBefore = end
        found = await condition()
        if (!found && endedBefore !== undefined) {
          throw new Error(`The process ended with ${endedBefore[1] ?? endedBefore[0]} before: ${what}`)
        }
        return found
      }
      await waitFor(isFulfilled, what)
      return found as never
    },
    ended,
    async end(signal) {
      child.kill(signal)
      return ended()
    },
  }
}
