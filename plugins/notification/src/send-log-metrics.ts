import { Counter, type Registry } from 'prom-client'

const name = 'platform_notification_send_log_lost_total'

/** Counts sends that are not in the send log and never will be. */
export function sendLogMetrics(registry: Registry): { countLost(rows: number): void; stop(): void } {
  const help = 'Sends that could not be written to the send log'
  const counter = new Counter({ name, help, registers: [registry] })
  return {
    countLost: (rows) => counter.inc(rows),
    stop: () => registry.removeSingleMetric(name),
  }
}
