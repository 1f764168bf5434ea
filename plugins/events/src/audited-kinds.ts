import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'outbox-event': {
    title: text('Event', '事件'),
    page: 'events.event',
    labels: 'events.event',
    actions: {
      replay: text('Deliver again', '重新投递'),
      skip: text('Skip', '跳过'),
    },
  },
}
