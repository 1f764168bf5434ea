import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'

let ofProcess: Registry | undefined

/**
 * Registers what prom-client measures of the process: memory, garbage collection, processor, event loop. It is measured once
 * for all products that the process ever starts, because prom-client never ends its timers and observers.
 */
export function measureProcess(registry: Registry): void {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
  }
  for (const metric of ofProcess.getMetricsAsArray()) registry.registerMetric(metric as unknown as Metric)
}
