import { extensionPoint, service, shape } from '@plinth/kernel'
import type { TemplateValue } from '@plinth/template'

/** An item that is collected for one or more users. */
export interface DigestItem {
  /** Code of the digest. */
  readonly digest: string
  /** 1 to 1,000 users. Each of them gets the item in a digest of their own. */
  readonly userIds: readonly number[]
  /** Key of the object that the items belong to, such as a topic; at most 200 characters. Each key has its own digest. Default: empty. */
  readonly subjectKey?: string
  /** 1 to 200 characters. An item with the same key for the same user and subject is collected only once. */
  readonly itemKey?: string
  /** Values for the template. As JSON at most 16,384 characters. */
  readonly data?: Readonly<Record<string, TemplateValue>>
  /** Attributes of the message, such as `module` and `topicId`. Those of the last item apply. Limit as for `data`. */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** A `critical` item is sent immediately in a message of its own. Default: `normal`. */
  readonly priority?: 'normal' | 'critical'
}

/** `off`: no enabled digest has the code, so the caller sends its own message. `sent`: a critical item was enqueued. */
export type DigestOutcome = 'collected' | 'sent' | 'off'

/** Collects items, and sends one message with all items of a user and a subject. */
export interface Digests {
  /**
   * Adds an item to the open digests of users, or opens them. Joins the current transaction, so a rollback removes the item.
   *
   * @throws RangeError for values out of range; the errors of `Notification.enqueue` for a critical item
   */
  add(item: DigestItem): Promise<DigestOutcome>
}

export const digests = service<Digests>('digests', { from: '@plinth/digest' })

/** A digest that a plugin declares. The product creates it once. Operators can then change it. */
export interface DeclaredDigest {
  /** Key of a translation: `messages.<path>`. The text of the operator replaces it. Its variables are `count`, `shown`, `more`, and the data of the last item. */
  readonly subject: string
  readonly content: string
  /** Default: false. */
  readonly enabled?: boolean
  /** Seconds after the first item. Default: 3,600. */
  readonly windowSeconds?: number
  /** Codes of channels. Default: the default channel. */
  readonly channels?: readonly string[]
}

export const declaredDigests = extensionPoint<DeclaredDigest>('digest.declared', {
  from: '@plinth/digest',
  // A plugin that declares digests may also require the service `digests`.
  live: true,
  names: shape.dotted,
  shape: shape.object<DeclaredDigest>(
    { subject: shape.text, content: shape.text },
    { enabled: shape.flag, windowSeconds: shape.integer(1, 2_678_400), channels: shape.list(shape.text) },
  ),
})
