import type { metrics } from '@plinth/http'
import type { ServiceRef } from '@plinth/kernel'
import type { RunOutcome } from './contract.ts'

type RegistryOf<R> = R extends ServiceRef<infer T> ? T : never
type Registry = RegistryOf<typeof metrics>

const runsName = 'scheduler_task_runs_total'
const secondsName = 'scheduler_task_run_seconds_total'
const overdueName = 'scheduler_task_overdue_seconds'

export interface RunMetrics {
  observe(task: string, outcome: RunOutcome, durationMs: number): void
  stop(): void
}

/**
 * Counts runs and their seconds by task and outcome. Names of tasks come from declarations, so the series are bounded.
 *
 * @param overdueMs how long the task waits that is due longest and has not begun, milliseconds
 */
export function runMetrics(registry: Registry, overdueMs: () => number): RunMetrics {
  const sums = new Map<
    string,
    { readonly labels: { task: string; outcome: RunOutcome }; runs: number; seconds: number }
  >()
  const add = (name: string, help: string, member: 'runs' | 'seconds') => {
    const about = { name, help, type: 'counter', aggregator: 'sum' }
    const get = async () => ({
      ...about,
      values: [...sums.values()].map((sum) => ({ labels: sum.labels, value: sum[member] })),
    })
    // The registry asks a metric for its name and `get` alone; its type demands one of its library's own classes.
    registry.registerMetric({ ...about, get } as unknown as Parameters<Registry['registerMetric']>[0])
  }
  add(runsName, 'Runs of scheduled tasks on this instance by task and outcome', 'runs')
  add(secondsName, 'Seconds that runs of scheduled tasks took on this instance by task and outcome', 'seconds')
  const overdue = {
    name: overdueName,
    help: 'Seconds that the task has waited which is due longest and has not begun, as this instance sees it',
    ...{ type: 'gauge', aggregator: 'max' },
  }
  const get = async () => ({ ...overdue, values: [{ labels: {}, value: overdueMs() / 1000 }] })
  registry.registerMetric({ ...overdue, get } as unknown as Parameters<Registry['registerMetric']>[0])
  return {
    observe(task, outcome, durationMs) {
      const id = `${task} ${outcome}`
      const sum = sums.get(id) ?? { labels: { task, outcome }, runs: 0, seconds: 0 }
      sums.set(id, sum)
      sum.runs += 1
      sum.seconds += durationMs / 1000
    },
    stop() {
      for (const name of [runsName, secondsName, overdueName]) registry.removeSingleMetric(name)
    },
  }
}
