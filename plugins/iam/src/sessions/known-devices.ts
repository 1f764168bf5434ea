import { hash, randomBytes } from 'node:crypto'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '@plinth/database'
import { type Events, event } from '@plinth/events'
import { type HttpReply, type HttpRequest, id, instant, type RouteWrapper, Type } from '@plinth/http'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { isOperator } from '../access/access-guard.ts'
import type { RoleGrants } from '../access/role-grants.ts'
import { KnownDevice, Token } from '../entities.ts'
import { deviceCookieValues, type OpenedSession, sessionOpenedBy, setDeviceCookie } from './session-cookie.ts'
import { tokenHash } from './sessions.ts'

const secretBytes = 32
const secretForm = /^[A-Za-z0-9_-]{43}$/
/** Maximum number of users whose secrets one browser keeps, so that several users of one computer are recognised. */
const maxSecrets = 5
/** Maximum number of known devices of a user. A further one replaces the device that was not used for the longest time. */
const maxDevices = 20
/** Maximum number of new devices of a user per hour. Further ones are stored, but not announced: one notice is enough. */
const maxNewDevices = 5
const hourMs = 3_600_000
/** Minimum interval in milliseconds between two updates of `last_seen_at`. */
const seenIntervalMs = 86_400_000

/**
 * A user signed in from a device that was not used before. Not published for the first device of an account. Published
 * with the key `user:{userId}`, if the product has events.
 */
export const deviceAdded = event(
  'iam.user.new-device',
  Type.Object({
    userId: id,
    occurredAt: instant,
    method: Type.String({ description: 'Method of the sign-in, for example `password`.' }),
    device: Type.String({ description: 'Name of the device; empty if it is unknown.' }),
    network: Type.String({ description: 'Network from which the user signed in.' }),
    locale: Type.String({ description: 'Language of the request.' }),
  }),
)

interface KnownDeviceDependencies {
  readonly db: Database
  readonly events: Events | undefined
  readonly grants: RoleGrants
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly networkOf: (address: string) => string
}

type SignIn = Pick<HttpRequest, 'headers' | 'contextPath' | 'isHttps' | 'clientIp' | 'locale'>

/**
 * Recognises the devices of users. A browser has a random cookie with a secret for each user, because a secret of another
 * user must not hide a new device. A program that asks for a token stores no cookie. It is recognised by its name and
 * network, and only for users with permissions: otherwise an attacker with the password of an operator would avoid the
 * notice by asking for a token. Apps of other users change their network too often.
 */
export class KnownDevices {
  readonly #parts: KnownDeviceDependencies

  constructor(parts: KnownDeviceDependencies) {
    this.#parts = parts
  }

  /** Stores the device of a new session. If this fails, the sign-in still succeeds. */
  async record(opened: OpenedSession, request: SignIn, reply: Pick<HttpReply, 'header'>): Promise<void> {
    try {
      const session = await this.#parts.db.fork().findOne(Token, { tokenHash: tokenHash(opened.accessToken) })
      if (session === null) return
      if (opened.transport === 'cookie') await this.#recordBrowser(session, request, reply)
      else await this.#recordProgram(session, request)
    } catch (error) {
      // Two programs with the same name signed in at the same time.
      if (error instanceof UniqueConstraintViolationException) return
      this.#parts.log.warn({ reason: errorReason(error) }, 'the device of a sign-in could not be stored')
    }
  }

  async #recordBrowser(session: Token, request: SignIn, reply: Pick<HttpReply, 'header'>): Promise<void> {
    const sent = deviceCookieValues(request).flatMap((value) => value.split('.'))
    const secrets = [...new Set(sent.filter((secret) => secretForm.test(secret)))].slice(0, maxSecrets)
    const known = await this.#recognise(session, secrets)
    // The value of a new secret never comes from the request. Otherwise the secret could be known to an attacker who set
    // the cookie in this browser.
    const secret = known ?? randomBytes(secretBytes).toString('base64url')
    if (known === undefined) await this.#add(session, secret, request)
    const kept = [secret, ...secrets.filter((other) => other !== secret)].slice(0, maxSecrets)
    setDeviceCookie(kept.join('.'), request, reply)
  }

  async #recordProgram(session: Token, request: SignIn): Promise<void> {
    const { db, grants, networkOf } = this.#parts
    if (!isOperator(await grants.ofUser(db.fork(), session.userId))) return
    const program = JSON.stringify([networkOf(request.clientIp), session.deviceName ?? session.userAgent])
    if ((await this.#recognise(session, [program])) === undefined) await this.#add(session, program, request)
  }

  /** Returns the secret that belongs to a known device of the user, or `undefined`. */
  async #recognise({ userId }: Token, secrets: readonly string[]): Promise<string | undefined> {
    const { db, clock } = this.#parts
    const hashes = new Map(secrets.map((secret) => [hashOf(secret), secret]))
    const known = await db.fork().findOne(KnownDevice, { userId, secretHash: { $in: [...hashes.keys()] } })
    if (known === null) return undefined
    const now = clock.now()
    if (now - known.lastSeenAt.getTime() >= seenIntervalMs)
      await db.execute('update iam_known_device set last_seen_at = ? where id = ?', [new Date(now), known.id])
    return hashes.get(known.secretHash)
  }

  #add(session: Token, secret: string, { clientIp, locale }: SignIn): Promise<void> {
    const { db, clock, events, networkOf } = this.#parts
    const { userId, method } = session
    const device = session.deviceName ?? ''
    return db.transactional(async (em) => {
      const now = clock.now()
      const earlier = await em.find(KnownDevice, { userId }, { orderBy: { lastSeenAt: 'asc', id: 'asc' } })
      await this.#insert(em, { userId, secretHash: hashOf(secret), name: device }, now)
      const excess = earlier.slice(0, Math.max(0, earlier.length + 1 - maxDevices))
      if (excess.length > 0) await em.nativeDelete(KnownDevice, { id: { $in: excess.map((one) => one.id) } })
      const recent = earlier.filter(({ createdAt }) => now - createdAt.getTime() < hourMs)
      if (earlier.length === 0 || recent.length >= maxNewDevices) return
      const occurredAt = new Date(now).toISOString()
      const notice = { userId, occurredAt, method, device, network: networkOf(clientIp), locale }
      await events?.publish(deviceAdded, notice, { key: `user:${userId}` })
    })
  }

  async #insert(em: SqlEntityManager, fields: Pick<KnownDevice, 'userId' | 'secretHash' | 'name'>, now: number) {
    const moment = new Date(now)
    em.create(KnownDevice, { id: this.#parts.db.newId(), ...fields, createdAt: moment, lastSeenAt: moment })
    await em.flush()
  }
}

const hashOf = (secret: string) => hash('sha256', secret, 'hex')

/** Stores the device after each sign-in, whichever plugin checked the identity. */
export const knownDeviceWrapper = (devices: KnownDevices): RouteWrapper => ({
  name: 'iam.known-device',
  reasons: [],
  forRoute: ({ access, method }) =>
    access === 'public' && method === 'POST'
      ? async (request, reply, handle) => {
          const payload = await handle()
          const opened = sessionOpenedBy(request)
          if (opened !== undefined) await devices.record(opened, request, reply)
          return payload
        }
      : undefined,
})
