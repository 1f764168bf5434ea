import type { Database } from '@plinth/database'
import { Counter, Gauge, type Registry } from 'prom-client'

/** How a run ended; `released`: its instance stopped, `lost`: another instance took its task. */
export type RunOutcome = 'succeeded' | 'failed' | 'cancelled' | 'released' | 'lost'

export interface RunMetrics {
  count(type: string, outcome: RunOutcome): void
}

/**
 * Counts runs of this instance by type and outcome, and reads the unfinished tasks when the registry is read. Types come
 * from declarations, so the series are bounded.
 */
export function runMetrics(registry: Registry, db: Database): RunMetrics {
  const counter = new Counter({
    name: 'platform_async_task_runs_total',
    help: 'Runs of asynchronous tasks on this instance by type and outcome',
    labelNames: ['type', 'outcome'],
    registers: [registry],
  })
  new Gauge({
    name: 'platform_async_task_tasks',
    help: 'Asynchronous tasks that have not ended, by state',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const status of ['queued', 'running']) {
        // Without the database there is no number, but the other metrics are still told.
        const rows = await db
          .query<{ total: number | string }>('select count(*) as total from async_task where status = ?', [status])
          .catch(() => [])
        for (const { total } of rows) this.set({ status }, Number(total))
      }
    },
  })
  return {
    count: (type, outcome) => counter.inc({ type, outcome }),
  }
}
