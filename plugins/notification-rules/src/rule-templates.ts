/** Template of a rule. It has no recipients, because only operators can choose them. Windows are in seconds. */
export interface RuleTemplate {
  readonly code: string
  readonly thresholdCount: number
  readonly thresholdWindow: number | null
  readonly dedupeWindow: number | null
  readonly silenceWindow: number | null
  readonly channels: readonly string[]
  readonly escalation: {
    readonly enabled: boolean
    readonly after: number | null
    readonly dedupeWindow: number | null
    readonly channels: readonly string[]
  }
}

const [minute, hour] = [60, 3600]
/** Channels that the templates recommend (document 2 of the specification, "Events"). */
const channels = ['database']
const databaseOrMail = ['database', 'mail']

const noEscalation = { enabled: false, after: null, dedupeWindow: null, channels: [] }
/** Escalation that also sends mails to the recipients of the rule. */
const byMail = (after: number) => ({ enabled: true, after, dedupeWindow: 4 * after, channels: ['mail'] })

const base = { channels, thresholdCount: 1, thresholdWindow: null, silenceWindow: null, escalation: noEscalation }
/** Rule for a fact that stops processing until an operator acts. */
const urgent = { ...base, dedupeWindow: 10 * minute, silenceWindow: 30 * minute, escalation: byMail(hour) }
/** Rule for a fact that may be chance if it occurs once. */
const repeated = { ...urgent, thresholdCount: 3, thresholdWindow: 10 * minute }
/** Rule for a fact that is harmless unless it occurs many times. */
const burst = { ...urgent, thresholdCount: 10, thresholdWindow: 10 * minute, escalation: noEscalation }
/** Rule for tasks that wait for an operator. */
const queue = { ...base, dedupeWindow: 5 * minute, escalation: byMail(24 * hour) }
/** Rule for information that needs no action. */
const notice = { ...base, dedupeWindow: hour }
const flow = { ...base, dedupeWindow: minute }

/**
 * Built-in templates: the 24 subjects of document 2 of the specification ("Rule-based alerts are served for"), the
 * rule events of the forum, failing webhook endpoints, and backups. A code is `<module>.<fact>`, and the module is its category. Names and texts are under
 * `notification-rules.alerts`.
 */
export const ruleTemplates: readonly RuleTemplate[] = [
  { code: 'open-platform.balance-low', ...urgent },
  { code: 'open-platform.package-exhausted', ...urgent },
  { code: 'open-platform.key-abnormal', ...urgent },
  { code: 'open-platform.provider-fault', ...repeated },
  { code: 'open-platform.rate-limited', ...burst },
  { code: 'webhooks.endpoint.failing', ...queue },
  { code: 'webhooks.endpoint.suspended', ...urgent },
  { code: 'security.abuse-suspected', ...urgent },
  { code: 'queue.job.failed', ...urgent },
  { code: 'events.outbox.delivery-failed', ...urgent },
  { code: 'compensation.command.failed', ...urgent },
  { code: 'web3.settlement.failed', ...urgent },
  { code: 'scheduler.task.failed', ...repeated },
  { code: 'async-task.failed', ...repeated },
  { code: 'backup.completed', ...notice },
  { code: 'backup.failed', ...urgent },
  { code: 'content-safety.review.pending', ...queue },
  { code: 'content-safety.review.rejected', ...notice },
  { code: 'install.execution.completed', ...flow, channels: databaseOrMail },
  { code: 'install.execution.failed', ...flow, channels: databaseOrMail },
  { code: 'mall.virtual-delivery.low-stock', ...urgent },
  { code: 'mall.virtual-delivery.out-of-stock', ...urgent },
  { code: 'mall.after-sales.pending-review', ...queue },
  { code: 'mall.order.pending-fulfilment', ...queue },
  { code: 'blog.article.published', ...notice },
  { code: 'cms.review.rejected', ...notice, channels: databaseOrMail },
  { code: 'forum.reply.created', ...flow },
  { code: 'short-link.risk-visit', ...burst, channels: databaseOrMail },
  { code: 'live-code.fallback-used', ...notice, channels: databaseOrMail },
  { code: 'forum.topic.liked', ...flow },
  { code: 'forum.topic.favorited', ...flow },
  { code: 'forum.reply.liked', ...flow },
  { code: 'forum.report.status-changed', ...notice },
]

export const categoryOf = (code: string): string => code.slice(0, code.indexOf('.'))

const textRoot = 'messages.notification-rules.alerts'
const codes = new Set(ruleTemplates.map(({ code }) => code))

/** Returns the keys of the texts of an alert. A code without a template uses the texts of `other`. */
export function alertTexts(code: string): {
  readonly name: string
  readonly subject: string
  readonly content: string
} {
  const root = `${textRoot}.${codes.has(code) ? code : 'other'}`
  return { name: `${root}.name`, subject: `${root}.subject`, content: `${root}.content` }
}
