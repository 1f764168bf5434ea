import type { Recipient } from '@plinth/kernel'
import type { MessageDraft } from '../contract.ts'

/** Value of a variable. It is converted to text, a `Date` to ISO 8601. Null remains null. */
export type VariableValue = string | number | bigint | boolean | Date | null

/**
 * Builds a message (document 2 of the specification, "Message"): `new
 * MessageBuilder().subject('Paid').variable('order', 42).toUser(7).draft()`. Each call that specifies a recipient adds
 * it. For a variable or attribute, the last value applies.
 */
export class MessageBuilder {
  #texts: Pick<MessageDraft, 'subject' | 'content' | 'html' | 'template' | 'locale'> = {}
  readonly #variables = new Map<string, string | null>()
  readonly #secret = new Set<string>()
  readonly #attributes = new Map<string, unknown>()
  readonly #recipients: Recipient[] = []

  /** @param subject text, or key of a translation: `messages.<path>` or `{messages.<path>}` */
  subject(subject: string): this {
    this.#texts = { ...this.#texts, subject }
    return this
  }

  /** @param content text, or key of a translation */
  content(content: string): this {
    this.#texts = { ...this.#texts, content }
    return this
  }

  html(html: string): this {
    this.#texts = { ...this.#texts, html }
    return this
  }

  template(template: string): this {
    this.#texts = { ...this.#texts, template }
    return this
  }

  /** @param locale BCP 47 language tag */
  locale(locale: string): this {
    this.#texts = { ...this.#texts, locale }
    return this
  }

  variable(name: string, value: VariableValue): this {
    this.#variables.set(name, textOf(value))
    return this
  }

  variables(values: Readonly<Record<string, VariableValue>>): this {
    for (const [name, value] of Object.entries(values)) this.variable(name, value)
    return this
  }

  /** Adds a variable whose value logs must not contain, such as a one-time code. */
  secretVariable(name: string, value: VariableValue): this {
    this.#secret.add(name)
    return this.variable(name, value)
  }

  /** Data for a channel. It must not contain keys, tokens or passwords. */
  attribute(name: string, value: unknown): this {
    this.#attributes.set(name, value)
    return this
  }

  attributes(values: Readonly<Record<string, unknown>>): this {
    for (const [name, value] of Object.entries(values)) this.attribute(name, value)
    return this
  }

  to(...recipients: readonly Recipient[]): this {
    this.#recipients.push(...recipients)
    return this
  }

  toUser(...userIds: readonly number[]): this {
    return this.to(...userIds.map((userId) => ({ kind: 'user' as const, userId })))
  }

  /** All users who exist when the message is sent. */
  toAllUsers(): this {
    return this.to({ kind: 'all-users' })
  }

  toEmail(...addresses: readonly string[]): this {
    return this.to(...addresses.map((address) => ({ kind: 'email' as const, address })))
  }

  toMobile(...numbers: readonly string[]): this {
    return this.to(...numbers.map((number) => ({ kind: 'mobile' as const, number })))
  }

  toWebsocketUser(...userIds: readonly number[]): this {
    return this.to(...userIds.map((userId) => ({ kind: 'websocket-user' as const, userId })))
  }

  toWebsocketSession(...sessionIds: readonly string[]): this {
    return this.to(...sessionIds.map((sessionId) => ({ kind: 'websocket-session' as const, sessionId })))
  }

  toWebsocketGroup(...groups: readonly string[]): this {
    return this.to(...groups.map((group) => ({ kind: 'websocket-group' as const, group })))
  }

  toWebsocketGuests(): this {
    return this.to({ kind: 'websocket-guest' })
  }

  toSocialOpenid(...openIds: readonly string[]): this {
    return this.to(...openIds.map((openId) => ({ kind: 'social-openid' as const, openId })))
  }

  toTopic(...topics: readonly string[]): this {
    return this.to(...topics.map((topic) => ({ kind: 'topic' as const, topic })))
  }

  draft(): MessageDraft {
    return {
      ...this.#texts,
      variables: Object.fromEntries(this.#variables),
      ...(this.#secret.size === 0 ? {} : { secretVariables: [...this.#secret] }),
      attributes: Object.fromEntries(this.#attributes),
      recipients: [...this.#recipients],
    }
  }
}

const textOf = (value: VariableValue): string | null =>
  value === null ? null : value instanceof Date ? value.toISOString() : String(value)
