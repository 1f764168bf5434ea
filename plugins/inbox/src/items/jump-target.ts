import { fitTextToColumn } from '@plinth/kernel'
import type { JumpTarget } from '../contract.ts'

type Attributes = Readonly<Record<string, unknown>>

/** Rule that decides what opens when the user selects an item. */
interface Rule {
  readonly module: string
  readonly targetType: string
  /** Attributes that may contain the id of the target. The first one with a value is used. */
  readonly ids: readonly string[]
  readonly route: string
  /** True if the target is a user who is related to the recipient. */
  readonly isPerson?: true
}

const profile: Rule = {
  module: 'social',
  targetType: 'user',
  ids: ['targetUserId', 'targetId', 'fromUserId', 'sourceId'],
  route: '/users',
  isPerson: true,
}
const topic: Rule = { module: 'forum', targetType: 'topic', ids: ['targetId', 'topicId'], route: '/forum/topics' }

/** Rules by module and event (document 2 of the specification, "Inbox item view"). */
const rules: Readonly<Record<string, Rule>> = {
  'social.friend.requested': profile,
  'social.friend.accepted': profile,
  'social.friend.rejected': profile,
  'social.user.followed': profile,
  'conversation.message.created': {
    module: 'conversation',
    targetType: 'conversation',
    ids: ['targetId', 'conversationId'],
    route: '/chat/conversations',
  },
  'forum.reply.created': topic,
  'forum.reply.liked': topic,
  'forum.topic.liked': topic,
  'forum.topic.favorited': topic,
  'forum.report.status-changed': {
    module: 'forum',
    targetType: 'report',
    ids: ['targetId', 'reportId', 'sourceId'],
    route: '/forum/reports',
  },
  'mall.order.status-changed': {
    module: 'mall',
    targetType: 'order',
    ids: ['targetId', 'orderNo', 'orderId'],
    route: '/mall/orders',
  },
  'mall.after-sales.status-changed': {
    module: 'mall',
    targetType: 'after-sales',
    ids: ['targetId', 'afterSalesNo', 'afterSalesId'],
    route: '/mall/after-sales',
  },
}

const maxPreviewLength = 200

/** Attributes of the sender override the rule of the event. Long texts are cut, and invalid values left out. */
export function jumpTargetOf(attributes: Attributes): JumpTarget {
  const named = (name: string, length = 128) => textOf(attributes[name], length)
  const event = named('event') ?? named('eventType')
  const rule = event === null ? undefined : ruleOf(named('module', 64), event)
  const targetId = firstOf(rule?.ids ?? ['targetId'], attributes)
  const targetRoute = routeOf(attributes['targetRoute'])
  return {
    module: moduleOf(attributes),
    event,
    eventType: event,
    sourceType: named('sourceType', 64),
    sourceId: named('sourceId'),
    targetType: named('targetType', 64) ?? rule?.targetType ?? null,
    targetId,
    targetRoute:
      targetRoute ?? (rule === undefined || targetId === null ? null : `${rule.route}/${encodeURIComponent(targetId)}`),
    targetUserId: userIdOf(attributes['targetUserId']) ?? (rule?.isPerson === true ? userIdOf(targetId) : null),
    dedupeKey: named('dedupeKey', 200),
    conversationType: named('conversationType', 64),
    messagePreview: named('messagePreview', maxPreviewLength),
    sender: senderOf(attributes['sender']),
  }
}

/** Returns the module of a message in lower case: the attribute `module`, or else the module of the event. */
export function moduleOf(attributes: Attributes): string {
  const named = textOf(attributes['module'], 64)
  const event = named === null ? (textOf(attributes['event'], 128) ?? textOf(attributes['eventType'], 128)) : null
  return (named ?? (event === null ? undefined : ruleOf(null, event)?.module) ?? 'system').toLowerCase()
}

/**
 * Returns the rule of an event. In the module `forum`, the event `reply.created` may use the rule
 * `forum.reply.created`.
 */
const ruleOf = (module: string | null, event: string): Rule | undefined =>
  [event, ...(module === null ? [] : [`${module.toLowerCase()}.${event}`])]
    .filter((code) => Object.hasOwn(rules, code))
    .map((code) => rules[code])[0]

function firstOf(names: readonly string[], attributes: Attributes): string | null {
  for (const name of names) {
    const text = textOf(attributes[name], 128)
    if (text !== null) return text
  }
  return null
}

/** Returns a text of at most this length; null for a blank text or another value. */
function textOf(value: unknown, length: number): string | null {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  return typeof text === 'string' && text.trim() !== '' ? fitTextToColumn(text, length) : null
}

function userIdOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : null
}

/**
 * Returns the value if it is a path of this site, or else null. Browsers treat `//host` and `/\host` as another site.
 */
const routeOf = (value: unknown): string | null =>
  typeof value === 'string' && /^\/(?![/\\])[^\s\\\p{Cc}]{0,499}$/u.test(value) ? value : null

function senderOf(value: unknown): JumpTarget['sender'] {
  if (typeof value !== 'object' || value === null) return null
  const { userId, name, avatar }: Attributes = { ...value }
  const sender = {
    userId: userIdOf(userId),
    name: textOf(name, 128),
    avatar: typeof avatar === 'string' && /^(?:https?:\/)?\/[^\s\\]{0,1999}$/.test(avatar) ? avatar : null,
  }
  return Object.values(sender).every((member) => member === null) ? null : sender
}
