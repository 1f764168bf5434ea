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
  /** When to look again at a task that is due and has not begun, in milliseconds. */
  readonly pollMs: () => number
  readonly clock: Clock
  readonly log: Logger
}

/** Looks at the rows of all tasks, dispatches what is due and takes away what was lost. */
export class TaskDispatch {
  readonly #parts: DispatchParts
  /** Tasks that this instance sees due: their turn, and since when. */
  readonly #due = new Map<string, { readonly turn: string; readonly since: number }>()

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

  /** The task that has been due longest without a run that began; `undefined` when there is none. */
  overdue(): { readonly task: string; readonly ms: number } | undefined {
    const now = this.#parts.clock.monotonic()
    const [longest] = [...this.#due].sort(([, a], [, b]) => a.since - b.since)
    return longest && { task: longest[0], ms: now - longest[1].since }
  }

  async #attend(task: BoundScheduledTask, row: TaskRow | undefined, askedAt: number): Promise<number> {
    const { rows, watch, runner, engine, pollMs, log } = this.#parts
    if (row === undefined) {
      await rows.ensure(task.name)
      return 0
    }
    const standing = watch.judge(task, row, askedAt)
    const turn = `${task.name}/${row.fence}/${row.beat}`
    this.#noteDue(task.name, standing.action === 'run' ? turn : undefined, askedAt)
    if (standing.action === 'wait') return standing.ms
    if (standing.action === 'take-away') {
      const { holder } = row
      if (await rows.takeAway(row)) log.warn({ task: task.name, holder }, 'scheduled task taken from a lost instance')
      return 0
    }
    if (!runner.isRunning(task.name)) engine.dispatch(task.name, turn)
    return pollMs()
  }

  #noteDue(task: string, turn: string | undefined, now: number): void {
    if (turn === undefined) this.#due.delete(task)
    else if (this.#due.get(task)?.turn !== turn) this.#due.set(task, { turn, since: now })
  }
}
