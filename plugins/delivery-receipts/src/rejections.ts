import type { Clock } from '@plinth/kernel'
import { Counter, type Registry } from 'prom-client'

const name = 'platform_delivery_receipts_total'
const windowMs = 3_600_000
/** Number of rejected requests of a source within an hour that causes a warning. */
const maxRejections = 20

/** Counts requests in this process, and warns if many of a source are rejected. */
export class ReceiptCounts {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #registry: Registry | undefined
  readonly #counter: Counter<'source' | 'outcome'> | undefined
  /** Times of the last rejections of each source. */
  readonly #rejections = new Map<string, number[]>()

  constructor({ clock, registry }: { clock: Pick<Clock, 'monotonic'>; registry: Registry | undefined }) {
    this.#clock = clock
    this.#registry = registry
    const help = 'Requests of providers with delivery receipts, by source and outcome'
    this.#counter = registry && new Counter({ name, help, labelNames: ['source', 'outcome'], registers: [registry] })
  }

  /** @param source name of a loaded source, so that the number of series is limited */
  count(source: string, outcome: 'stored' | 'rejected' | 'unavailable'): void {
    this.#counter?.inc({ source, outcome })
    if (outcome !== 'rejected') return
    const times = this.#rejections.get(source) ?? []
    times.push(this.#clock.monotonic())
    this.#rejections.set(source, times.slice(-maxRejections))
  }

  /** One sentence for each source with many rejections in the last hour. */
  get warnings(): readonly string[] {
    const begin = this.#clock.monotonic() - windowMs
    const failing = [...this.#rejections].filter(([, [first = 0, ...more]]) => {
      return more.length + 1 >= maxRejections && first >= begin
    })
    return failing.map(
      ([source]) =>
        `Many requests to /api/v1/delivery-receipts/${source} are rejected: compare the keys under platform.delivery-receipts with the settings at the provider.`,
    )
  }

  stop(): void {
    this.#registry?.removeSingleMetric(name)
  }
}
