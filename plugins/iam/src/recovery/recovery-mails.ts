import { type Delivery, type Events, event, type HandlerContext } from '@plinth/events'
import { Type } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Logger } from '@plinth/kernel'
import type { Mail } from '@plinth/mail'
import type { Site } from '@plinth/site'
import type { Static } from 'typebox'
import type { CredentialHolder, Credentials } from '../contract.ts'
import type { RecoveryPurpose } from './entities.ts'
import type { RecoveryTokens } from './recovery-tokens.ts'
import type { RecoveryLimits, RecoverySettings } from './settings.ts'

const request = Type.Object({
  kind: Type.Enum(['reset', 'invitation', 'email-change', 'email-undo', 'password-changed']),
  /** 0 if a stranger named an unknown account. The request then publishes the same event, and nothing is sent. */
  userId: Type.Integer({ minimum: 0 }),
  locale: Type.String(),
  /** True for a request of the sign-in page, which anybody can make. */
  isPublic: Type.Optional(Type.Boolean()),
  /** Receiver of a mail about a change of the e-mail address. */
  address: Type.Optional(Type.String()),
  /** `CredentialHolder.state` of the request. */
  state: Type.Optional(Type.String()),
  inviterId: Type.Optional(Type.Integer()),
})
type MailRequest = Static<typeof request>

/**
 * A mail about the recovery of an account is to be sent. Contains no token: the handler creates it, and only the mail
 * and the SHA-256 in the database receive it.
 */
export const recoveryMailRequested = event('iam.recovery.mail-requested', request)

/** Mails of one kind are sent to a user one after another, so the link in the last one is the valid one. */
export const requestMail = (events: Pick<Events, 'publish'>, mail: MailRequest): Promise<number> =>
  events.publish(recoveryMailRequested, mail, {
    key: `iam.recovery:${mail.kind}:${mail.userId}`,
    order: 'publication',
  })

type MailKind = MailRequest['kind'] | 'no-password' | 'email-replaced'

interface MailDependencies {
  readonly credentials: Pick<Credentials, 'find'>
  readonly tokens: RecoveryTokens
  readonly settings: RecoverySettings
  readonly limits: RecoveryLimits
  readonly mail: Mail
  readonly site: Pick<Site, 'name'>
  readonly i18n: Pick<Translator, 'translate'>
  readonly log: Logger
}

/** Kind, address and link of a mail. */
interface Draft {
  readonly kind: MailKind
  readonly to: string
  /** Absent for a mail without a link. */
  readonly purpose?: RecoveryPurpose
  /** State to which the link is bound. Default: the state of the account. */
  readonly state?: string
}

/**
 * Sends the mails of this plugin. Nobody who requested a mail waits for it, so the response reveals nothing about the
 * account. A deferred mail is repeated with a new token.
 */
export class RecoveryMails {
  readonly #parts: MailDependencies

  constructor(parts: MailDependencies) {
    this.#parts = parts
  }

  async deliver(
    { id, payload }: Pick<Delivery<MailRequest>, 'id' | 'payload'>,
    { attempt, signal }: Pick<HandlerContext, 'attempt' | 'signal'>,
  ): Promise<void> {
    const { credentials, limits, settings, mail } = this.#parts
    if (!mail.isReady) return
    const holder = payload.userId === 0 ? undefined : await credentials.find(payload.userId)
    if (holder === undefined || !holder.enabled) return
    const draft = await this.#draftOf(payload, holder)
    if (draft === undefined || (draft.purpose !== undefined && !settings.isAvailable)) return
    if (payload.isPublic === true && attempt === 1 && !(await limits.takeMail(holder.id))) return
    await this.#send(draft, payload, holder, { key: `iam.recovery:${id}:${attempt}`, signal })
  }

  /** Returns what is to be sent, or `undefined` if the request no longer fits the account. */
  async #draftOf({ kind, address, state }: MailRequest, holder: CredentialHolder): Promise<Draft | undefined> {
    const { confirmedEmail, hasPassword } = holder
    const { tokens, settings } = this.#parts
    if (kind === 'email-change') {
      return address === undefined || state !== holder.state ? undefined : { kind, to: address, purpose: kind }
    }
    if (kind === 'email-undo') {
      if (address === undefined) return undefined
      const open = settings.isAvailable ? await tokens.findOpen(holder.id, kind) : undefined
      // Only the first of several changes can be undone, so that an attacker cannot replace the link of the owner.
      return open?.address === address
        ? { kind, to: address, purpose: kind, state: open.state }
        : { kind: 'email-replaced', to: address }
    }
    if (confirmedEmail === null) return undefined
    if (kind === 'password-changed') return { kind, to: confirmedEmail }
    if (kind === 'invitation') return hasPassword ? undefined : { kind, to: confirmedEmail, purpose: kind }
    return hasPassword ? { kind, to: confirmedEmail, purpose: kind } : { kind: 'no-password', to: confirmedEmail }
  }

  async #send(
    { kind, to, purpose, state: boundState }: Draft,
    { locale, inviterId }: MailRequest,
    { id: userId, username, state: accountState }: CredentialHolder,
    { key, signal }: { readonly key: string; readonly signal: AbortSignal },
  ): Promise<void> {
    const { tokens, settings, mail, site, i18n, log } = this.#parts
    const state = boundState ?? accountState
    const lifetimeMs = purpose === undefined ? 0 : settings.lifetimeOf(purpose)
    const link =
      purpose === undefined
        ? ''
        : settings.linkOf(purpose, await tokens.issue({ purpose, userId, address: to, state, inviterId, lifetimeMs }))
    const params = {
      site: site.name,
      username,
      link,
      minutes: Math.round(lifetimeMs / 60_000),
      hours: Math.round(lifetimeMs / 3_600_000),
    }
    const text = (part: string) => i18n.translate(locale, `messages.recovery.mail.${kind}.${part}`, params) ?? ''
    const message = { to: [to], subject: text('subject'), text: text('content'), locale }
    const { deliveries } = await mail.send(message, { idempotencyKey: key, signal })
    const [delivery] = deliveries
    const facts = { kind, userId, outcome: delivery?.outcome, code: delivery?.errorCode }
    // The reply of the server may repeat the mail with its link, so it is neither logged nor thrown.
    if (delivery?.outcome === 'deferred') throw new Error(`the mail was deferred (${delivery.errorCode ?? 'no code'})`)
    if (delivery?.outcome !== 'accepted') log.warn(facts, 'a mail for the recovery of an account was not accepted')
  }
}
