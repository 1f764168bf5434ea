import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { SendMeter } from '../facade/outgoing.ts'

const lost = 'platform_notification_send_log_lost_total'
const sends = 'platform_notification_sends_total'
const seconds = 'platform_notification_send_seconds'
const open = 'platform_notification_sends_open'

export function sendLogMetrics(registry: Registry): { countLost(rows: number): void; stop(): void } {
  const help = 'Sends that could not be written to the send log'
  const counter = new Counter({ name: lost, help, registers: [registry] })
  return {
    countLost: (rows) => counter.inc(rows),
    stop: () => registry.removeSingleMetric(lost),
  }
}

export function sendMetrics(registry: Registry): SendMeter & { stop(): void } {
  const registers = [registry]
  const labelNames = ['channel']
  const outcomes = ['channel', 'outcome']
  const counter = new Counter({ name: sends, help: 'Sends by channel and outcome', labelNames: outcomes, registers })
  const duration = new Histogram({
    name: seconds,
    help: 'Time that channels took',
    labelNames,
    registers,
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
  })
  const gauge = new Gauge({ name: open, help: 'Sends that wait for their channel', labelNames, registers })
  return {
    begin(channel) {
      gauge.inc({ channel })
      const end = duration.startTimer({ channel })
      return (outcome) => {
        end()
        gauge.dec({ channel })
        counter.inc({ channel, outcome })
      }
    },
    stop() {
      for (const name of [sends, seconds, open]) registry.removeSingleMetric(name)
    },
  }
}
