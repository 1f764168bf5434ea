import { hash } from 'node:crypto'
import { databaseMs } from '@plinth/coordination'
import { type Database, exactInteger, insertMissing, type Parameter } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { AlertState, NotificationRule } from './contract.ts'
import { AlertStateRow } from './entities.ts'

/** An alert after an event was counted. */
interface CountedAlert {
  readonly stateKey: string
  /** Time of the database, milliseconds since the epoch. */
  readonly nowMs: number
  readonly count: number
  readonly state: AlertState
}

const table = 'notification_rule_state'
/** Expired start state of a new row. The next count starts the alert. */
const over = 0
/**
 * Maximum number of separate alerts per rule, including expired ones that are not purged yet. Without it, dedupe keys
 * from outside, such as addresses of visitors, could fill the table.
 */
const maxAlerts = 10_000
/** Rows that an instance adds before it counts the table again. */
const maxUncounted = 1_000
/** Milliseconds after which an instance counts again if the table was full. */
const recountMs = 10_000
/** Dedupe key of all alerts beyond the limit. Keys of callers are never empty. */
const others = ''

/** Number of alerts that this instance may still add for a rule. */
interface Room {
  left: number
  /** The last count found the limit reached. */
  readonly isFull: boolean
  /** Monotonic milliseconds at which the next count is allowed once `left` is 0. */
  readonly recountAt: number
}

/**
 * State of alerts, by code and dedupe key. All methods run in the current transaction. Counting locks the row until its
 * end, so instances decide about the same alert one after another. Times are those of the database.
 */
export class AlertStates {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #log: Pick<Logger, 'warn'>
  /** By code. There is at most one entry per rule. */
  readonly #rooms = new Map<string, Room>()

  constructor(db: Database, clock: Pick<Clock, 'now' | 'monotonic'>, log: Pick<Logger, 'warn'>) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /**
   * Counts an event. With a counting window, events count from the first one to the end of the window. Without one,
   * events since the last message count. Beyond 10,000 alerts of a rule, new alerts count as one.
   *
   * @param keptMs milliseconds after which the alert expires without another event
   */
  async count(rule: NotificationRule, dedupeKey: string, by: number, keptMs: number): Promise<CountedAlert> {
    const { code, thresholdWindowMs } = rule
    const add = async (stateKey: string) =>
      (await this.#add(stateKey, thresholdWindowMs, by, keptMs)) ? this.#read(stateKey) : undefined
    const known = await add(keyOf(code, dedupeKey))
    if (known !== undefined) return known
    const keptAs = (await this.#takeRoom(code)) ? dedupeKey : others
    const stateKey = keyOf(code, keptAs)
    for (;;) {
      const ended = { counted: 0, windowStartedAtMs: over, expiresAtMs: over }
      const alert = { ...ended, id: this.#db.newId(), stateKey, code, dedupeKey: keptAs }
      await insertMissing(this.#db, AlertStateRow, 'stateKey', [alert])
      const counted = await add(stateKey)
      // An expired row may be purged in between.
      if (counted !== undefined) return counted
    }
  }

  /** Counts at most `maxAlerts` index entries, once for many new alerts. */
  async #takeRoom(code: string): Promise<boolean> {
    const known = this.#rooms.get(code)
    const isStale = known === undefined || (known.left === 0 && this.#clock.monotonic() >= known.recountAt)
    const room = isStale ? await this.#count(code, known?.isFull === true) : known
    if (room.left === 0) return false
    room.left -= 1
    return true
  }

  async #count(code: string, wasFull: boolean): Promise<Room> {
    const [row] = await this.#db.query<{ n: unknown }>(
      `select count(*) as n from (select id from ${table} where code = ? limit ${maxAlerts}) as kept`,
      [code],
    )
    const free = maxAlerts - exactInteger(row?.n)
    const isFull = free === 0
    if (isFull && !wasFull) {
      const text = 'a notification rule has as many alerts as are kept apart; new ones count as one'
      this.#log.warn({ code, most: maxAlerts }, text)
    }
    const recountAt = this.#clock.monotonic() + (isFull ? recountMs : 0)
    const room = { left: Math.min(maxUncounted, free), isFull, recountAt }
    this.#rooms.set(code, room)
    return room
  }

  /** Returns false if the alert does not exist. */
  async #add(stateKey: string, thresholdWindowMs: number | undefined, by: number, keptMs: number): Promise<boolean> {
    const now = databaseMs(this.#db, this.#clock)
    const isOver = `expires_at_ms <= ${now.sql}`
    const isPast = thresholdWindowMs === undefined ? '' : ` or window_started_at_ms + ? <= ${now.sql}`
    const past: readonly Parameter[] =
      thresholdWindowMs === undefined ? now.parameters : [...now.parameters, thresholdWindowMs, ...now.parameters]
    const kept = (column: string) => `${column} = case when ${isOver} then null else ${column} end`
    // MySQL evaluates assignments in order. Each column comes after the columns whose condition reads it.
    const counted = await this.#db.execute(
      `update ${table} set
         counted = case when ${isOver}${isPast} then ? else counted + ? end,
         window_started_at_ms = case when ${isOver}${isPast} then ${now.sql} else window_started_at_ms end,
         ${kept('last_sent_at_ms')}, ${kept('unresolved_since_ms')}, ${kept('last_escalated_at_ms')},
         expires_at_ms = ${now.sql} + ?
       where state_key = ?`,
      [
        ...past,
        by,
        by,
        ...past,
        ...now.parameters,
        ...now.parameters,
        ...now.parameters,
        ...now.parameters,
        ...now.parameters,
        keptMs,
        stateKey,
      ],
    )
    return counted > 0
  }

  async #read(stateKey: string): Promise<CountedAlert> {
    const now = databaseMs(this.#db, this.#clock)
    const [row] = await this.#db.query<Row>(
      `select counted, last_sent_at_ms, unresolved_since_ms, last_escalated_at_ms, ${now.sql} as now_ms
       from ${table} where state_key = ?`,
      [...now.parameters, stateKey],
    )
    return {
      stateKey,
      nowMs: exactInteger(row?.now_ms),
      count: exactInteger(row?.counted),
      state: {
        lastSentAt: moment(row?.last_sent_at_ms),
        unresolvedSince: moment(row?.unresolved_since_ms),
        lastEscalatedAt: moment(row?.last_escalated_at_ms),
      },
    }
  }

  /** @param recount true if events count since the last message */
  async remember(stateKey: string, { lastSentAt, unresolvedSince, lastEscalatedAt }: AlertState, recount: boolean) {
    await this.#db.execute(
      `update ${table} set last_sent_at_ms = ?, unresolved_since_ms = ?, last_escalated_at_ms = ?${recount ? ', counted = 0' : ''}
       where state_key = ?`,
      [lastSentAt ?? null, unresolvedSince ?? null, lastEscalatedAt ?? null, stateKey],
    )
  }
}

/** The text is unique for each pair, because a code contains no line break. */
const keyOf = (code: string, dedupeKey: string) => hash('sha256', `${code}\n${dedupeKey}`)

interface Row {
  readonly counted: unknown
  readonly last_sent_at_ms: unknown
  readonly unresolved_since_ms: unknown
  readonly last_escalated_at_ms: unknown
  readonly now_ms: unknown
}

const moment = (value: unknown) => (value == null ? undefined : exactInteger(value))
