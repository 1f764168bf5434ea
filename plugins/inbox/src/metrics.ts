import { Counter, type Registry } from 'prom-client'

/** `preference`: the user does not want it. `muted`: the conversation is muted. */
export type SkipReason = 'preference' | 'muted'

export interface InboxMetrics {
  added(items: number): void
  skipped(reason: SkipReason, items: number): void
}

const names = { added: 'platform_notification_inbox_items_total', skipped: 'platform_notification_inbox_skipped_total' }

/** Counts what is put into inboxes and what is not, so that nothing is left out unseen. */
export function inboxMetrics(registry: Registry | undefined): InboxMetrics & { stop(): void } {
  if (registry === undefined) return { added() {}, skipped() {}, stop() {} }
  const added = new Counter({ name: names.added, help: 'Items put into inboxes', registers: [registry] })
  const skipped = new Counter({
    name: names.skipped,
    help: 'Items not put into inboxes because their recipients do not want them',
    labelNames: ['reason'],
    registers: [registry],
  })
  return {
    added: (items) => added.inc(items),
    skipped: (reason, items) => skipped.inc({ reason }, items),
    stop() {
      for (const name of Object.values(names)) registry.removeSingleMetric(name)
    },
  }
}
