import { type Database, exactInteger } from '@plinth/database'
import { type Clock, localize } from '@plinth/kernel'
import { SendLogRow, type SendLogState } from '../entities.ts'
import type { NotificationSettings } from '../facade/outgoing.ts'
import type { SendRecorder } from '../send-log/recorder.ts'
import type { ChannelDirectory, ChannelEntry } from './channel-entries.ts'
import { testFieldOf } from './channel-tests.ts'

type RecentSend = Pick<SendLogRow, 'id' | 'channel' | 'provider' | 'status' | 'outcome' | 'errorMessage' | 'createdAt'>

interface RecentSends {
  readonly success: RecentSend | undefined
  readonly failure: RecentSend | undefined
  /** Time of the first failure since the last success. Absent if the newest send succeeded. */
  readonly failingSince: Date | undefined
}

/** Number of rows that are read for each channel and state. */
const rowsPerState = 10
/**
 * Maximum number of channels in one query. Each channel adds a part for each state to the `union`, and SQLite allows at
 * most 500 parts.
 */
const maxChannelsPerQuery = 50
const states: readonly SendLogState[] = ['success', 'failed', 'retried', 'unknown', 'dead']
/**
 * Number of consecutive rejections after which the channel is shown as failing. Fewer rejections may be caused by the
 * messages themselves.
 */
const minRejections = 3

/**
 * Returns recent sends, newest first. It reads a few rows through an index, so that the time does not depend on the
 * size of the send log.
 */
async function recentSends(db: Database, channels: readonly string[]): Promise<readonly RecentSend[]> {
  const ids: number[] = []
  for (let from = 0; from < channels.length; from += maxChannelsPerQuery) {
    const expected = channels
      .slice(from, from + maxChannelsPerQuery)
      .flatMap((channel) => states.map((state) => [channel, state]))
    const parts = expected.map(
      (_, at) =>
        `select id from (select id from notification_send_log where channel = ? and status = ? order by id desc limit ${rowsPerState}) as part${at}`,
    )
    const rows = await db.query<{ id: unknown }>(parts.join(' union all '), expected.flat())
    ids.push(...rows.map(({ id }) => exactInteger(id)))
  }
  if (ids.length === 0) return []
  const fields = ['id', 'channel', 'provider', 'status', 'outcome', 'errorMessage', 'createdAt'] as const
  return db.fork().find(SendLogRow, { id: { $in: ids } }, { fields, orderBy: { id: 'desc' } })
}

/** Summarises recent sends. @param sends sends of one channel or provider, newest first */
function judgeSends(sends: readonly RecentSend[]): RecentSends {
  const success = sends.find(({ status }) => status === 'success')
  const failures = sends.filter(({ status }) => status !== 'success')
  const since = failures.filter(({ id }) => success === undefined || id > success.id)
  const [newest] = since
  const isOfChannel = newest !== undefined && (newest.outcome !== 'rejected' || since.length >= minRejections)
  return { success, failure: failures[0], failingSince: isOfChannel ? since.at(-1)?.createdAt : undefined }
}

/**
 * States of a channel or provider. `incomplete`: required keys have no value. `resting`: it failed, so it is tried last
 * for some time. `limited`: its rate limit is used up. `failing`: its last sends failed.
 */
export const channelStates = ['ready', 'failing', 'resting', 'limited', 'incomplete', 'disabled'] as const
type ChannelState = (typeof channelStates)[number]

interface OverviewDependencies {
  readonly entries: ChannelDirectory
  readonly settings: NotificationSettings
  readonly clock: Pick<Clock, 'now'>
  /** Undefined in a product without a database. `recorder` is then undefined too. */
  readonly db: Database | undefined
  readonly recorder: Pick<SendRecorder, 'written'> | undefined
}

export class ChannelOverview {
  readonly #parts: OverviewDependencies

  constructor(parts: OverviewDependencies) {
    this.#parts = parts
  }

  async list(locale: string) {
    const entries = this.#parts.entries.all()
    const sends = await this.#sends(entries)
    return entries.map((entry) => this.#viewOf(entry, sends, locale))
  }

  /** @throws BusinessError "404" `notification.channel-not-found` */
  async one(code: string, locale: string) {
    const entry = this.#parts.entries.find(code)
    const { keys, missingKeys } = this.#parts.entries.conditionOf(entry)
    const sends = await this.#sends([entry])
    const listed = keys.map((key) => ({ key, missing: missingKeys.includes(key) }))
    return { ...this.#viewOf(entry, sends, locale), keys: listed }
  }

  async #sends(entries: readonly ChannelEntry[]): Promise<readonly RecentSend[]> {
    const { db, recorder } = this.#parts
    if (db === undefined || recorder === undefined) return []
    await recorder.written()
    return recentSends(db, [...new Set(entries.map(({ channelCode }) => channelCode))])
  }

  #viewOf(entry: ChannelEntry, sends: readonly RecentSend[], locale: string) {
    const { entries, settings, clock } = this.#parts
    const { code, channelCode, channel, provider, plugin } = entry
    const condition = entries.conditionOf(entry)
    const { missingKeys, restsForMs = 0, limitedForMs = 0, isOff = false } = condition
    const own = sends.filter((send) => send.channel === channelCode)
    const { success, failure, failingSince } = judgeSends(
      provider === undefined ? own : own.filter((send) => send.provider === provider.code),
    )
    const enabled = settings.enabled && channel.enabled?.() !== false && !isOff
    const state = stateOf({ enabled, missingKeys, restsForMs, limitedForMs, failingSince })
    const waitMs = state === 'resting' ? restsForMs : state === 'limited' ? limitedForMs : undefined
    const name = localize(channel.displayName, locale)
    return {
      code,
      channel: channelCode,
      provider: provider?.code ?? null,
      displayName: provider === undefined ? name : `${name} · ${localize(provider.displayName, locale)}`,
      plugin: plugin ?? null,
      enabled,
      isDefault: provider === undefined && channelCode === settings.defaultChannel,
      state,
      failingSince: failingSince?.toISOString() ?? null,
      until: waitMs === undefined ? null : new Date(clock.now() + waitMs).toISOString(),
      missingKeys: [...missingKeys],
      verifiable: channel.verify !== undefined,
      testField: testFieldOf(entry),
      lastSuccessAt: success?.createdAt.toISOString() ?? null,
      lastFailureAt: failure?.createdAt.toISOString() ?? null,
      lastFailureReason: failure?.errorMessage ?? null,
      lastFailureId: failure?.id ?? null,
    }
  }
}

interface Known {
  readonly enabled: boolean
  readonly missingKeys: readonly string[]
  readonly restsForMs: number
  readonly limitedForMs: number
  readonly failingSince: Date | undefined
}

function stateOf({ enabled, missingKeys, restsForMs, limitedForMs, failingSince }: Known): ChannelState {
  if (missingKeys.length > 0) return 'incomplete'
  if (!enabled) return 'disabled'
  if (restsForMs > 0) return 'resting'
  if (limitedForMs > 0) return 'limited'
  return failingSince === undefined ? 'ready' : 'failing'
}
