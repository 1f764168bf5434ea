import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { relativePathOf } from './javascript-copy.ts'

/** Environment without variables that would make one start faster than the next. */
export const { NODE_COMPILE_CACHE, NODE_OPTIONS, ...environment } = process.env

/** A child process that answers each message with one message. */
export class BenchChildProcess {
  /** Time at which the process was started, as `performance.now()` in milliseconds. */
  readonly spawnedAt = performance.now()
  readonly #program: string
  readonly #process: ChildProcess

  /** @param arguments_ command line arguments of the program */
  constructor(program: string, arguments_: readonly string[] = []) {
    this.#program = program
    this.#process = fork(program, arguments_, {
      env: environment,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
  }

  /** Returns the next message. Throws if the process ends instead. */
  async next<T>(): Promise<T> {
    const over = new AbortController()
    const { signal } = over
    const ended = once(this.#process, 'exit', { signal }).then(([code]) => {
      throw new Error(`${relativePathOf(this.#program)} ended with ${code}`)
    })
    try {
      const [message] = await Promise.race([once(this.#process, 'message', { signal }), ended])
      return message as T
    } finally {
      ended.catch(() => undefined)
      over.abort()
    }
  }

  ask<T>(question: object): Promise<T> {
    const response = this.next<T>()
    this.#process.send(question)
    return response
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const exit = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exit
  }
}
