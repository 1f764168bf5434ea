import { createHash, ECDH } from 'node:crypto'
import { type Database, insertMissingRows, insertOrReplaceRows } from '@plinth/database'
import { errorReason, type Logger } from '@plinth/kernel'
import type { PluginEncryption } from '@plinth/system-config'
import { businessError } from './declarations.ts'
import { Acceptance, Device, type PushChannelCode } from './entities.ts'
import { curve } from './web-push/encryption.ts'
import { type EndpointRules, endpointProblem } from './web-push/endpoint.ts'
import type { Subscription } from './web-push/sender.ts'

/** Address of a device: the subscription of a browser, or the registration token of an app. */
export type Registration =
  | ({ readonly channel: 'web-push' } & Subscription)
  | { readonly channel: 'fcm'; readonly token: string }

interface DeviceDependencies {
  readonly db: Database
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly rules: EndpointRules
  readonly maxDevices: () => number
  readonly log: Logger
}

/** A device that has not accepted a send, with its decrypted address. */
export interface OpenDevice {
  readonly id: number
  /** The encrypted registration. Each registration has another one. */
  readonly target: string
  readonly registration: Registration
}

const purpose = 'push-device'

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Stores devices with encrypted addresses, and which sends they have accepted. */
export class Devices {
  readonly #parts: DeviceDependencies

  constructor(parts: DeviceDependencies) {
    this.#parts = parts
  }

  /**
   * Registers a device, or registers it again. A device of another user moves to this user. If the user then has too many
   * devices, those whose registration is the oldest end. As many ended devices are kept.
   *
   * @returns id of the device
   * @throws BusinessError "400" `push.endpoint-rejected`, `push.key-invalid`; "503" `push.secret-key-unusable`
   */
  async register(userId: number, registration: Registration, label: string | null): Promise<number> {
    const { db, maxDevices } = this.#parts
    const { channel } = registration
    if (registration.channel === 'web-push') this.#assertSubscription(registration)
    const address = registration.channel === 'web-push' ? registration.endpoint : registration.token
    const targetHash = sha256(`${channel} ${address}`)
    // Sealed outside of the transaction, because sealing the first device stores a new key.
    const target = await this.#seal(registration)
    const service = registration.channel === 'web-push' ? new URL(registration.endpoint).host : channel
    return db.transactional(async (em) => {
      const now = new Date(db.clock.now())
      const changed = { userId, label, service, target, status: 'active', registeredAt: now, endedAt: null } as const
      const row = { id: db.newId(), channel, targetHash, lastSuccessAt: null, createdAt: now, ...changed }
      const sets = Object.keys(changed) as (keyof typeof changed)[]
      await insertOrReplaceRows(db, Device.entity, { key: 'targetHash', sets }, [row])
      const newest = { registeredAt: 'desc', id: 'desc' } as const
      const owned = await em.find(Device.entity, { userId, status: 'active' }, { orderBy: newest })
      const surplus = owned.filter((one) => one.targetHash !== targetHash).slice(maxDevices() - 1)
      if (surplus.length > 0) await this.#end(em, { id: { $in: surplus.map(({ id }) => id) } }, 'replaced')
      // Someone who registers invented devices must not fill the table.
      const older = { orderBy: { endedAt: 'desc', id: 'desc' }, offset: maxDevices(), limit: maxIds } as const
      const ended = await em.find(Device.entity, { userId, status: { $ne: 'active' } }, older)
      if (ended.length > 0) await em.nativeDelete(Device.entity, { id: { $in: ended.map(({ id }) => id) } })
      const stored = owned.find((one) => one.targetHash === targetHash)
      return stored?.id ?? row.id
    })
  }

  /**
   * Returns the devices of a user that have not accepted a send, and the number of those that have. Returns undefined if they
   * cannot be read.
   *
   * @param sendHash `sha256` of the idempotency key of the send
   */
  async pending(
    userId: number,
    channel: PushChannelCode,
    sendHash: string,
  ): Promise<{ readonly open: readonly OpenDevice[]; readonly accepted: number } | undefined> {
    const { db, log, maxDevices } = this.#parts
    try {
      const em = db.fork()
      const where = { userId, channel, status: 'active' } as const
      const rows = await em.find(Device.entity, where, { orderBy: { registeredAt: 'desc' }, limit: maxDevices() })
      const deviceId = { $in: rows.map(({ id }) => id) }
      const done = rows.length === 0 ? [] : await em.find(Acceptance.entity, { sendHash, deviceId })
      const waiting = rows.filter(({ id }) => !done.some((one) => one.deviceId === id))
      return { open: await Promise.all(waiting.map((row) => this.#open(row))), accepted: done.length }
    } catch (error) {
      log.error({ userId, reason: errorReason(error) }, 'the push devices of a user cannot be read')
      return undefined
    }
  }

  /** Records that a device has accepted a send. Never throws, because the message was sent. */
  async accept(deviceId: number, sendHash: string): Promise<void> {
    const { db, log } = this.#parts
    const now = new Date(db.clock.now())
    try {
      await db.transactional(async (em) => {
        const row = { id: db.newId(), sendHash, deviceId, createdAt: now }
        await insertMissingRows(db, Acceptance.entity, ['sendHash', 'deviceId'], [row])
        await em.nativeUpdate(Device.entity, { id: deviceId }, { lastSuccessAt: now })
      })
    } catch (error) {
      log.error({ deviceId, reason: errorReason(error) }, 'an accepted push message could not be recorded')
    }
  }

  /** Ends a device that its push service no longer knows, unless it was registered again meanwhile. Never throws. */
  async remove({ id, target }: OpenDevice): Promise<void> {
    const { db, log } = this.#parts
    try {
      await this.#end(db.fork(), { id, target }, 'gone')
    } catch (error) {
      log.error({ deviceId: id, reason: errorReason(error) }, 'a push device could not be removed')
    }
  }

  /** Returns those of the users who have a device. @param userIds any number */
  async reachable(userIds: readonly number[], channel: PushChannelCode): Promise<ReadonlySet<number>> {
    const found = new Set<number>()
    for (let from = 0; from < userIds.length; from += maxIds) {
      const where = { userId: { $in: userIds.slice(from, from + maxIds) }, channel, status: 'active' } as const
      const rows = await this.#parts.db.fork().find(Device.entity, where, { fields: ['userId'] })
      for (const { userId } of rows) found.add(userId)
    }
    return found
  }

  #assertSubscription({ endpoint, p256dh }: Subscription): void {
    const rule = endpointProblem(endpoint, this.#parts.rules)
    if (rule !== undefined)
      throw businessError('endpoint-rejected', { params: { rule }, data: { field: 'endpoint', rule } })
    try {
      ECDH.convertKey(p256dh, curve, 'base64url', 'base64url')
    } catch (cause) {
      throw businessError('key-invalid', { data: { field: 'keys.p256dh' }, cause })
    }
  }

  async #seal(registration: Registration): Promise<string> {
    const { box, log } = this.#parts
    return box.seal(purpose, JSON.stringify(registration)).catch((cause: unknown) => {
      log.error({ reason: errorReason(cause) }, 'the key of push devices cannot be used')
      throw businessError('secret-key-unusable', { cause })
    })
  }

  async #open({ id, target }: Pick<Device, 'id' | 'target'>): Promise<OpenDevice> {
    return { id, target, registration: JSON.parse(await this.#parts.box.open(purpose, target)) }
  }

  async #end(
    em: Pick<ReturnType<Database['fork']>, 'nativeUpdate'>,
    devices: { readonly id: number | { readonly $in: number[] }; readonly target?: string },
    status: Exclude<Device['status'], 'active'>,
  ): Promise<void> {
    const endedAt = new Date(this.#parts.db.clock.now())
    await em.nativeUpdate(Device.entity, { $and: [devices, { status: 'active' }] }, { status, endedAt, target: '' })
  }
}

/** Number of users per statement. */
const maxIds = 500
