import { type Database, insertMissingRows } from '@plinth/database'
import { type Clock, formats, omitUndefined } from '@plinth/kernel'
import { categories, type NotificationPreferences, type PreferenceQuery, type ReaderFormat } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { PreferenceRow } from '../entities.ts'
import { allCategories, recordOptOuts } from '../items/opt-outs.ts'
import { declaredDefault, type PreferenceTerms } from './categories.ts'
import { PreferenceCellRow } from './entities.ts'
import { firstMoment, offsetAt } from './zoned-time.ts'

/** Numbers of values that one statement may contain, so that few distinct statements are prepared. */
const sizes = [1, 10, 100, 1_000] as const
const largest = 1_000

/** Divides values into lists for `column in (...)`. Repeats the last value until a list has an allowed length. */
export function* inClauseLists(
  values: readonly number[],
): Generator<{ readonly places: string; readonly values: readonly number[] }> {
  for (let from = 0; from < values.length; from += largest) {
    const part = values.slice(from, from + largest)
    const size = sizes.find((one) => one >= part.length) ?? largest
    const last = part.at(-1) ?? 0
    yield {
      places: Array(size).fill('?').join(', '),
      values: [...part, ...Array<number>(size - part.length).fill(last)],
    }
  }
}

/** Quiet hours in local time. If they end before they start, they span midnight. */
export interface QuietHours {
  /** IANA name of the time zone. */
  readonly timeZone: string
  /** Minutes since midnight, 0 to 1,439. */
  readonly start: number
  /** End in minutes since midnight, exclusive and different from `start`. */
  readonly end: number
}

const minuteMs = 60_000
const dayMs = 86_400_000

const modulo = (value: number, by: number) => ((value % by) + by) % by

/**
 * Returns the end of the current quiet hours; undefined outside quiet hours. If the clocks are set forward past the
 * end, quiet hours end at this moment. If the clocks are set back into quiet hours, quiet hours start again.
 *
 * @param nowMs milliseconds since the epoch, like the result
 */
export function quietHoursEnd({ timeZone, start, end }: QuietHours, nowMs: number): number | undefined {
  const [startMs, endMs] = [start * minuteMs, end * minuteMs]
  const isQuiet = (intoDay: number) =>
    start < end ? intoDay >= startMs && intoDay < endMs : intoDay >= startMs || intoDay < endMs
  const offset = offsetAt(timeZone, nowMs)
  const intoDay = modulo(nowMs + offset, dayMs)
  if (!isQuiet(intoDay)) return undefined
  const endsAt = nowMs + modulo(endMs - intoDay, dayMs)
  const offsetThen = offsetAt(timeZone, endsAt)
  if (offsetThen === offset) return endsAt
  const changedAt = firstMoment(nowMs, endsAt, (ms) => offsetAt(timeZone, ms) !== offset)
  const intoDayThen = modulo(changedAt + offsetThen, dayMs)
  return isQuiet(intoDayThen) ? changedAt + modulo(endMs - intoDayThen, dayMs) : changedAt
}

const switchOfChannel: Readonly<Record<string, Switch>> = {
  database: 'databaseEnabled',
  websocket: 'websocketEnabled',
  mail: 'emailEnabled',
  sms: 'smsEnabled',
}

/** Column of each switch that a user can set (document 2 of the specification, "Preferences"). */
const columnOfSwitch = {
  databaseEnabled: 'database_enabled',
  websocketEnabled: 'websocket_enabled',
  emailEnabled: 'email_enabled',
  smsEnabled: 'sms_enabled',
  systemEnabled: 'system_enabled',
  accountEnabled: 'account_enabled',
  todoEnabled: 'todo_enabled',
  chatEnabled: 'chat_enabled',
  blogEnabled: 'blog_enabled',
  forumEnabled: 'forum_enabled',
  mallEnabled: 'mall_enabled',
  marketingEnabled: 'marketing_enabled',
} as const
export type Switch = keyof typeof columnOfSwitch
const switches = Object.keys(columnOfSwitch) as Switch[]
const allOn = Object.fromEntries(switches.map((name) => [name, true])) as Record<Switch, boolean>

/** Quiet hours as stored. Times of day have the form `HH:MM`. */
interface SavedQuietHours {
  readonly timeZone: string
  readonly start: string
  readonly end: string
}

interface Preferences extends Readonly<Record<Switch, boolean>> {
  readonly quietHours: SavedQuietHours | null
  readonly locale: string | null
  readonly timeZone: string | null
}

interface QuietRow {
  readonly user_id: unknown
  readonly quiet_time_zone: string
  readonly quiet_start: number
  readonly quiet_end: number
}

/** Preferences of users. One statement reads up to 1,000 users. */
export class UserPreferences implements NotificationPreferences {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #terms: Pick<PreferenceTerms, 'find'>

  constructor(db: Database, clock: Pick<Clock, 'now'>, terms: Pick<PreferenceTerms, 'find'>) {
    this.#db = db
    this.#clock = clock
    this.#terms = terms
  }

  async wanted(userIds: readonly number[], { channel, category }: PreferenceQuery): Promise<ReadonlySet<number>> {
    const declared = this.#terms.find(category)
    if (declared?.required === true) return new Set(userIds)
    const set = await this.operatorDefault(channel, category)
    const fallback = set?.enabled ?? (declared === undefined || declaredDefault(declared, channel))
    if (set?.locked === true) return new Set(fallback ? userIds : [])
    const columns = switchesOf(channel, category).map((one) => columnOfSwitch[one])
    const isOff = ['1 = 0', ...columns.map((column) => `p.${column} = ?`)].join(' or ')
    const offValues = columns.map(() => false)
    const wanted = new Set(fallback ? userIds : [])
    for (const { places, values } of inClauseLists(userIds)) {
      // A user with a cell also has a row of switches.
      const rows = await this.#db.query<{ user_id: unknown; is_off: unknown; enabled: unknown }>(
        `select p.user_id, case when ${isOff} then 1 else 0 end as is_off, c.enabled from notification_preference p
         left join notification_preference_cell c on c.user_id = p.user_id and c.channel = ? and c.category = ?
         where p.user_id in (${places}) and (${isOff} or c.id is not null)`,
        [...offValues, channel, category, ...values, ...offValues],
      )
      for (const { user_id, is_off, enabled } of rows) {
        if (Number(is_off) === 0 && enabled) wanted.add(Number(user_id))
        else wanted.delete(Number(user_id))
      }
    }
    return wanted
  }

  /** Returns what an operator has set for a category on a channel. */
  protected async operatorDefault(
    _channel: string,
    _category: string,
  ): Promise<{ readonly enabled: boolean; readonly locked: boolean } | undefined> {
    return undefined
  }

  async quietUntil(userIds: readonly number[], nowMs: number): Promise<ReadonlyMap<number, number>> {
    const ends = new Map<number, number>()
    /**
     * Ends of quiet hours by period. Many users have the same quiet hours, so the end of each period is computed only
     * once.
     */
    const known = new Map<string, number | undefined>()
    for (const { places, values } of inClauseLists(userIds)) {
      const rows = await this.#db.query<QuietRow>(
        `select user_id, quiet_time_zone, quiet_start, quiet_end from notification_preference
         where user_id in (${places}) and quiet_time_zone is not null`,
        values,
      )
      for (const { user_id, quiet_time_zone: timeZone, quiet_start: start, quiet_end: end } of rows) {
        const hours = `${timeZone} ${start} ${end}`
        if (!known.has(hours)) known.set(hours, quietHoursEnd({ timeZone, start, end }, nowMs))
        const endsAt = known.get(hours)
        if (endsAt !== undefined) ends.set(Number(user_id), endsAt)
      }
    }
    return ends
  }

  async readerFormats(userIds: readonly number[]): Promise<ReadonlyMap<number, ReaderFormat>> {
    const found = new Map<number, ReaderFormat>()
    for (const { places, values } of inClauseLists(userIds)) {
      const rows = await this.#db.query<{ user_id: unknown; locale: string | null; time_zone: string | null }>(
        `select user_id, locale, time_zone from notification_preference
         where user_id in (${places}) and (locale is not null or time_zone is not null)`,
        values,
      )
      for (const { user_id, locale, time_zone } of rows)
        found.set(Number(user_id), omitUndefined({ locale: locale ?? undefined, timeZone: time_zone ?? undefined }))
    }
    return found
  }

  async get(userId: number): Promise<Preferences> {
    const row = await this.#db.fork().findOne(PreferenceRow, { userId })
    const { quietTimeZone: zone, quietStart: start, quietEnd: end, locale = null, timeZone = null } = row ?? {}
    const quietHours =
      zone == null || start == null || end == null ? null : { timeZone: zone, start: written(start), end: written(end) }
    const on = { ...allOn }
    if (row !== null) for (const name of switches) on[name] = row[name]
    return { ...on, quietHours, locale, timeZone }
  }

  /**
   * Saves preferences. Fields that are not specified stay unchanged.
   *
   * @throws BusinessError "400" `notification-inbox.time-zone-unknown`, `notification-inbox.quiet-hours-empty`,
   *   `notification-inbox.locale-unknown`
   */
  async save(userId: number, { quietHours, ...given }: Partial<Preferences>): Promise<Preferences> {
    const hours = quietHours === undefined ? {} : quietColumns(quietHours)
    const { locale, timeZone } = given
    if (timeZone != null) assertTimeZone(timeZone, 'timeZone')
    if (locale != null && !isLocale(locale))
      throw businessError('locale-unknown', { params: { locale }, data: { field: 'locale' } })
    const updatedAt = new Date(this.#clock.now())
    await this.#db.transactional(async (em) => {
      await this.ensureRow(userId)
      await em.nativeUpdate(PreferenceRow, { userId }, { ...given, ...hours, updatedAt })
      await this.recordOptOuts(userId)
    })
    return this.get(userId)
  }

  /** Adds the row of a user who has none, with everything on. */
  protected async ensureRow(userId: number): Promise<void> {
    const updatedAt = new Date(this.#clock.now())
    await insertMissingRows(this.#db, PreferenceRow, 'userId', [{ ...allOn, userId, updatedAt }])
  }

  /** Records which messages to all users the user does not want. Call it after a change, in the same transaction. */
  protected async recordOptOuts(userId: number): Promise<void> {
    const em = this.#db.fork()
    const row = await em.findOneOrFail(PreferenceRow, { userId })
    const cells = await em.find(PreferenceCellRow, { userId, channel: 'database', enabled: false })
    const off = [...categories.filter((one) => !row[`${one}Enabled`]), ...cells.map(({ category }) => category)]
    await recordOptOuts(this.#db, userId, [...new Set(row.databaseEnabled ? off : [...off, allCategories])])
  }

  async switchOff(userId: number, category: string): Promise<void> {
    await this.save(userId, { [`${category}Enabled`]: false })
  }

  async forget(userId: number): Promise<void> {
    await this.#db.execute('delete from notification_preference where user_id = ?', [userId])
    await this.#db.execute('delete from notification_inbox_opt_out where user_id = ?', [userId])
  }
}

/** Returns the switches of a category and a channel. Those that a plugin declares have none. */
export function switchesOf(channel: string, category: string): readonly Switch[] {
  const ofChannel = Object.hasOwn(switchOfChannel, channel) ? switchOfChannel[channel] : undefined
  const ofCategory = `${category}Enabled`
  return [
    ...(categories.some((one) => one === category) ? [ofCategory as Switch] : []),
    ...(ofChannel === undefined ? [] : [ofChannel]),
  ]
}

const written = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`

function quietColumns(hours: SavedQuietHours | null) {
  if (hours === null) return { quietTimeZone: null, quietStart: null, quietEnd: null }
  const { timeZone, start, end } = hours
  assertTimeZone(timeZone, 'quietHours.timeZone')
  if (start === end) throw businessError('quiet-hours-empty', { data: { field: 'quietHours.end' } })
  const minutes = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
  return { quietTimeZone: timeZone, quietStart: minutes(start), quietEnd: minutes(end) }
}

function assertTimeZone(timeZone: string, field: string): void {
  if (!formats['time-zone']?.validate(timeZone))
    throw businessError('time-zone-unknown', { params: { timeZone }, data: { field } })
}

/** True for a well-formed BCP 47 tag whose language is known. */
function isLocale(tag: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0
  } catch {
    return false
  }
}
