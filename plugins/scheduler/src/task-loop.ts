import { type BoundScheduledTask, type Clock, type Logger, reasonOf } from '@plinth/kernel'
import type { Engine } from './engine.ts'
import type { TaskRow } from './entities.ts'
import type { TaskRows } from './task-rows.ts'
import type { TaskRunner } from './task-runner.ts'
import type { TaskWatch } from './task-watch.ts'

export interface LoopParts {
  readonly tasks: readonly BoundScheduledTask[]
  readonly rows: TaskRows
  readonly watch: TaskWatch
  readonly runner: TaskRunner
  readonly engine: Engine
  /** Longest pause between two looks, in milliseconds; read before each. */
  readonly pollMs: () => number
  readonly clock: Clock
  readonly log: Logger
}

/** Looks at the rows of all tasks when one may be due, and at least once per poll interval; dispatches what is due. */
export class TaskLoop {
  readonly #parts: LoopParts
  readonly #end = new AbortController()
  #pause = new AbortController()
  #running: Promise<void> | undefined

  constructor(parts: LoopParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Looks again at once. */
  wake(): void {
    this.#pause.abort()
  }

  async stop(): Promise<void> {
    this.#end.abort()
    this.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock, log, pollMs } = this.#parts
    let isFailing = false
    while (!this.#end.signal.aborted) {
      this.#pause = new AbortController()
      let wait = pollMs()
      try {
        wait = Math.min(wait, await this.#look())
        if (isFailing) log.info('scheduled tasks can be read again')
        isFailing = false
      } catch (error) {
        if (!isFailing) log.error({ reason: reasonOf(error) }, 'scheduled tasks cannot be read; trying again')
        isFailing = true
      }
      if (wait > 0 && !this.#end.signal.aborted) await clock.sleep(wait, this.#pause.signal)
    }
  }

  /** Answers the milliseconds after which there is something to do, as far as can be known now. */
  async #look(): Promise<number> {
    const askedAt = this.#parts.clock.monotonic()
    const rows = new Map((await this.#parts.rows.all()).map((row) => [row.name, row]))
    const waits = [Number.POSITIVE_INFINITY]
    for (const task of this.#parts.tasks) waits.push(await this.#attend(task, rows.get(task.name), askedAt))
    return Math.min(...waits)
  }

  async #attend(task: BoundScheduledTask, row: TaskRow | undefined, askedAt: number): Promise<number> {
    const { rows, watch, runner, engine, log } = this.#parts
    if (row === undefined) {
      await rows.ensure(task.name)
      return 0
    }
    const standing = watch.judge(task, row, askedAt)
    if (standing.action === 'wait') return standing.ms
    if (standing.action === 'take-away') {
      const { holder } = row
      if (await rows.takeAway(row)) log.warn({ task: task.name, holder }, 'scheduled task taken from a lost instance')
      return 0
    }
    if (!runner.isRunning(task.name)) engine.dispatch(task.name, `${task.name}/${row.fence}/${row.beat}`)
    return Number.POSITIVE_INFINITY
  }
}
