import type { Database } from '@plinth/database'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Outcome of a run. `released`: its instance stopped. `lost`: another instance took its task. */
export type RunOutcome = 'succeeded' | 'failed' | 'cancelled' | 'released' | 'lost'

export interface RunMetrics {
  count(type: string, outcome: RunOutcome): void
}

/**
 * Counts runs of this instance by type and outcome, and counts unfinished tasks when the registry is read. Types come
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
        // If the database fails, this metric is omitted and the other metrics are still returned.
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
