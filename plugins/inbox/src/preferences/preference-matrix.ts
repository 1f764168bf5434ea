import { LockMode } from '@mikro-orm/core'
import { type Database, insertOrReplaceRows } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { PreferenceRow } from '../entities.ts'
import { type DeclaredCategory, declaredDefault, type PreferenceTerms } from './categories.ts'
import { PreferenceCellRow, PreferenceDefaultRow } from './entities.ts'
import { type Switch, switchesOf, UserPreferences } from './user-preferences.ts'

/** One category on one channel. */
export interface Cell {
  readonly channel: string
  readonly category: string
}

export interface CellChange extends Cell {
  readonly enabled: boolean
}

/** `locked`: users cannot decide. */
export interface CellState extends CellChange {
  readonly locked: boolean
}

/** Milliseconds for which an instance may not see a default that an operator has changed on another instance. */
const defaultsAgeMs = 5_000
const maxUsers = 1_000

const keyOf = ({ channel, category }: Cell) => `${channel} ${category}`
const byKey = <C extends Cell>(cells: readonly C[]) => new Map(cells.map((cell) => [keyOf(cell), cell]))

/**
 * Preferences as a matrix of channels and categories. A message is wanted if the switches of its channel and its category are
 * on, and the cell is on. A cell without a decision of the user has the default of the operator or, without one, the declared
 * default. If the operator has locked a cell, only its default matters. Required categories are always on.
 */
export class PreferenceMatrix extends UserPreferences {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #terms: PreferenceTerms
  #defaults: { readonly at: number; readonly rows: Promise<ReadonlyMap<string, PreferenceDefaultRow>> } | undefined

  constructor(db: Database, clock: Pick<Clock, 'now'>, terms: PreferenceTerms) {
    super(db, clock, terms)
    this.#db = db
    this.#clock = clock
    this.#terms = terms
  }

  /** Returns what a user gets, for all categories and channels. */
  async cells(userId: number): Promise<readonly CellState[]> {
    const db = this.#db.fork()
    const [row, own, defaults] = await Promise.all([
      db.findOne(PreferenceRow, { userId }),
      this.#db.fork().find(PreferenceCellRow, { userId }),
      this.#readDefaults(),
    ])
    return this.#states(row ?? undefined, byKey(own), defaults)
  }

  /**
   * Saves decisions of a user. All other cells keep their state: a switch that is off for more than the changed cells is
   * switched on, and its other cells become decisions.
   *
   * @throws BusinessError "404" `notification-inbox.cell-unknown`, "409" `notification-inbox.cell-locked`
   */
  async saveCells(userId: number, changes: readonly CellChange[]): Promise<readonly CellState[]> {
    await this.#db.transactional(async (em) => {
      await this.ensureRow(userId)
      const lock = this.#db.dialect === 'sqlite' ? {} : { lockMode: LockMode.PESSIMISTIC_WRITE }
      const row = await em.findOneOrFail(PreferenceRow, { userId }, lock)
      const own = byKey(await em.find(PreferenceCellRow, { userId }))
      const defaults = await this.#readDefaults()
      const cells = this.#states(row, own, defaults)
      const changed = this.#checked(cells, changes)
      const open = cells.filter(({ locked }) => !locked)
      const wanted = open.map((cell) => ({ ...cell, enabled: changed.get(keyOf(cell))?.enabled ?? cell.enabled }))
      const raised = wanted.filter(({ enabled }) => enabled).flatMap(switchNames)
      const switchedOn = new Set(raised.filter((name) => !row[name]))
      if (switchedOn.size > 0) {
        const values = Object.fromEntries([...switchedOn].map((name) => [name, true]))
        await em.nativeUpdate(PreferenceRow, { userId }, { ...values, updatedAt: new Date(this.#clock.now()) })
      }
      // A cell that the user switches off stays off, also if a switch that is off now is switched on later.
      const isDecided = (cell: CellState) =>
        changed.has(keyOf(cell)) || switchNames(cell).every((name) => row[name] || switchedOn.has(name))
      const decided = wanted.filter(isDecided)
      const differs = decided.filter((cell) => cell.enabled !== this.#defaultOf(cell, defaults).enabled)
      const kept = new Set(differs.map(keyOf))
      const superfluous = decided.flatMap((cell) => (kept.has(keyOf(cell)) ? [] : (own.get(keyOf(cell))?.id ?? [])))
      if (superfluous.length > 0) await em.nativeDelete(PreferenceCellRow, { id: { $in: superfluous } })
      const rows = differs
        .filter((cell) => own.get(keyOf(cell))?.enabled !== cell.enabled)
        .map(({ channel, category, enabled }) => ({ id: this.#db.newId(), userId, channel, category, enabled }))
      const change = { key: ['userId', 'channel', 'category'], sets: ['enabled'] } as const
      if (rows.length > 0) await insertOrReplaceRows(this.#db, PreferenceCellRow, change, rows)
      await this.recordOptOuts(userId)
    })
    return this.cells(userId)
  }

  /**
   * Switches off a category of a user. Locked cells do not change.
   *
   * @param channel if absent, the category is switched off on all channels
   */
  override async switchOff(userId: number, category: string, channel?: string): Promise<void> {
    if (channel === undefined && switchesOf('', category).length > 0) return super.switchOff(userId, category)
    const cells = await this.cells(userId)
    const open = cells.filter((cell) => cell.category === category && !cell.locked)
    const chosen = open.filter((cell) => channel === undefined || cell.channel === channel)
    await this.saveCells(
      userId,
      chosen.map((cell) => ({ ...cell, enabled: false })),
    )
  }

  /** Returns the default of a cell. */
  async defaultOf(cell: Cell): Promise<CellState> {
    return this.#defaultOf(cell, await this.#readDefaults())
  }

  /** Returns the users who have switched a cell on whose default is off, up to 1,000 at a time. */
  async *usersWithCellOn(cell: Cell): AsyncGenerator<readonly number[]> {
    const orderBy = { userId: 'asc' } as const
    for (let last = 0; ; ) {
      const where = { ...cell, enabled: true, userId: { $gt: last } }
      const found = await this.#db.fork().find(PreferenceCellRow, where, { orderBy, limit: maxUsers })
      const userIds = found.map(({ userId }) => userId)
      if (userIds.length > 0) yield userIds
      if (userIds.length < maxUsers) return
      last = userIds.at(-1) ?? last
    }
  }

  /** Returns the default of each cell. */
  async defaults(): Promise<readonly CellState[]> {
    const defaults = await this.#readDefaults()
    return this.#all().map(({ cell, declared }) => this.#defaultOf(cell, defaults, declared))
  }

  /**
   * Saves the default of a cell. Joins the current transaction.
   *
   * @throws BusinessError "404" `notification-inbox.cell-unknown`, "409" `notification-inbox.category-required`, "400"
   *   `notification-inbox.marketing-locked`
   */
  async saveDefault({ channel, category, enabled, locked }: CellState): Promise<CellState> {
    const found = this.#all().find(({ cell }) => cell.channel === channel && cell.category === category)
    if (found === undefined) throw businessError('cell-unknown', { params: { channel, category } })
    const { cell, declared } = found
    if (declared.required === true) throw businessError('category-required', { params: { category } })
    if (category === 'marketing' && enabled && locked)
      throw businessError('marketing-locked', { data: { field: 'locked' } })
    const isDeclared = !locked && enabled === declaredDefault(declared, channel)
    if (isDeclared) await this.#db.fork().nativeDelete(PreferenceDefaultRow, cell)
    else {
      const change = { key: ['channel', 'category'], sets: ['enabled', 'locked'] } as const
      const row = { ...cell, id: this.#db.newId(), enabled, locked }
      await insertOrReplaceRows(this.#db, PreferenceDefaultRow, change, [row])
    }
    this.#db.afterCommit(() => {
      this.#defaults = undefined
    })
    return { ...cell, enabled, locked }
  }

  async isFixed(channel: string, category: string): Promise<boolean> {
    if (this.#terms.find(category)?.required === true) return true
    const set = await this.operatorDefault(channel, category)
    return set?.locked === true && set.enabled
  }

  /** Reads the few defaults once for many messages. */
  protected override async operatorDefault(channel: string, category: string) {
    const now = this.#clock.now()
    if (this.#defaults === undefined || Math.abs(now - this.#defaults.at) > defaultsAgeMs) {
      const rows = this.#readDefaults()
      this.#defaults = { at: now, rows }
      rows.catch(() => {
        this.#defaults = undefined
      })
    }
    return (await this.#defaults.rows).get(keyOf({ channel, category }))
  }

  override async forget(userId: number): Promise<void> {
    await this.#db.execute('delete from notification_preference_cell where user_id = ?', [userId])
    await super.forget(userId)
  }

  #all() {
    const channels = this.#terms.channels()
    return this.#terms
      .all()
      .flatMap((declared) =>
        channels.map(({ code }) => ({ cell: { channel: code, category: declared.code }, declared })),
      )
  }

  #states(
    row: Readonly<Record<Switch, boolean>> | undefined,
    own: ReadonlyMap<string, CellChange>,
    defaults: ReadonlyMap<string, CellState>,
  ): readonly CellState[] {
    return this.#all().map(({ cell, declared }) => {
      const fallback = this.#defaultOf(cell, defaults, declared)
      if (fallback.locked) return fallback
      const isOn = switchNames(cell).every((name) => row?.[name] ?? true)
      return { ...cell, enabled: isOn && (own.get(keyOf(cell))?.enabled ?? fallback.enabled), locked: false }
    })
  }

  #defaultOf(
    { channel, category }: Cell,
    defaults: ReadonlyMap<string, CellState>,
    declared: DeclaredCategory | undefined = this.#terms.find(category),
  ): CellState {
    if (declared?.required === true) return { channel, category, enabled: true, locked: true }
    const set = defaults.get(keyOf({ channel, category }))
    const enabled = set?.enabled ?? (declared === undefined || declaredDefault(declared, channel))
    return { channel, category, enabled, locked: set?.locked ?? false }
  }

  async #readDefaults(): Promise<ReadonlyMap<string, PreferenceDefaultRow>> {
    return byKey(await this.#db.fork().find(PreferenceDefaultRow, {}))
  }

  /** Returns the changes by cell, if each is about a cell that the user may change. */
  #checked(cells: readonly CellState[], changes: readonly CellChange[]): ReadonlyMap<string, CellChange> {
    const known = byKey(cells)
    for (const { channel, category } of changes) {
      const cell = known.get(keyOf({ channel, category }))
      if (cell === undefined) throw businessError('cell-unknown', { params: { channel, category } })
      if (cell.locked) throw businessError('cell-locked', { params: { channel, category } })
    }
    return byKey(changes)
  }
}

const switchNames = ({ channel, category }: Cell): readonly Switch[] => switchesOf(channel, category)
