import type { BoundScheduledTask, Clock, Logger } from '@plinth/kernel'
import type { Engine } from './engine.ts'
import type { TaskRow } from './entities.ts'
import type { TaskRows } from './task-rows.ts'
import type { TaskRunner } from './task-runner.ts'
import type { TaskWatch } from './task-watch.ts'

export interface DispatchParts {
  readonly tasks: readonly BoundScheduledTask[]
  readonly rows: TaskRows
  readonly watch: TaskWatch
  readonly runner: TaskRunner
  readonly engine: Engine
  readonly clock: Clock
  readonly log: Logger
}

/** Looks at the rows of all tasks, dispatches what is due and takes away what was lost. */
export class TaskDispatch {
  readonly #parts: DispatchParts

  constructor(parts: DispatchParts) {
    this.#parts = parts
  }

  /** Answers the milliseconds after which there is something to do, as far as can be known now. */
  async look(): Promise<number> {
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
