import { Counter, Gauge, type Registry } from 'prom-client'
import type { RunOutcome } from './contract.ts'

export interface RunMetrics {
  observe(task: string, outcome: RunOutcome, durationMs: number): void
}

/**
 * Counts runs and their seconds by task and outcome. Names of tasks come from declarations, so the series are bounded.
 *
 * @param overdueMs how long the task waits that is due longest and has not begun, milliseconds
 */
export function runMetrics(registry: Registry, overdueMs: () => number): RunMetrics {
  const of = { labelNames: ['task', 'outcome'] as const, registers: [registry] }
  const runs = new Counter({
    ...of,
    name: 'scheduler_task_runs_total',
    help: 'Runs of scheduled tasks on this instance by task and outcome',
  })
  const seconds = new Counter({
    ...of,
    name: 'scheduler_task_run_seconds_total',
    help: 'Seconds that runs of scheduled tasks took on this instance by task and outcome',
  })
  new Gauge({
    name: 'scheduler_task_overdue_seconds',
    help: 'Seconds that the task has waited which is due longest and has not begun, as this instance sees it',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(overdueMs() / 1000)
    },
  })
  return {
    observe(task, outcome, durationMs) {
      runs.inc({ task, outcome })
      seconds.inc({ task, outcome }, durationMs / 1000)
    },
  }
}
