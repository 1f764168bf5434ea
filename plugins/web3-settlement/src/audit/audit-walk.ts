import { insertOrReplaceRows, type Selected, selectionOf } from '@plinth/database'
import type { PaymentOrder } from '@plinth/money/payments'
import { AuditPositionRow } from '../entities.ts'
import type { Parts } from '../parts.ts'

interface WalkScope {
  readonly provider: string
  readonly chainName?: string | undefined
  /** The audit includes orders that were paid at this time or before. */
  readonly paidBefore: Date
  /** Maximum number of orders, at most 200. */
  readonly limit: number
}

interface WalkPart {
  /** Selected orders, ordered by id. */
  readonly orders: readonly PaymentOrder[]
  /** Orders after the position `floor`. If none of them needs another audit, `floor` moves behind them. */
  readonly fromFloor: readonly PaymentOrder[]
  readonly places: Places
}

const positions = selectionOf(AuditPositionRow).omit('id')
type Place = Omit<Selected<typeof positions>, 'walk'>

/**
 * Names of the positions that are stored between runs. `all`: last order of the slow walk. `floor`: no order up to here
 * needs another audit. `top`: latest payment that was selected. `recent`: last order of the walk from the newest
 * payment to older ones.
 */
const placeNames = ['all', 'floor', 'top', 'recent'] as const
type PlaceName = (typeof placeNames)[number]
type Places = Readonly<Record<PlaceName, Place>>

type WalkDependencies = Pick<Parts, 'db' | 'clock' | 'payments'>

/** A day in milliseconds. Payments of the last day are audited first. */
const recentMs = 86_400_000
/** One of this many selected orders comes from the slow walk. */
const slowShare = 5
const start: Place = { afterId: 0, afterAt: null }

/**
 * Selects the orders of an audit run: payments of the last day, newest first, then older orders by id (the slow walk).
 * At the end, the slow walk starts again behind the position `floor`.
 */
export class AuditOrderSelection {
  readonly #parts: WalkDependencies

  constructor(parts: WalkDependencies) {
    this.#parts = parts
  }

  async next(scope: WalkScope): Promise<WalkPart> {
    const { clock, payments } = this.#parts
    const { provider, limit } = scope
    const places = await this.#read(scope)
    const [paidAfter, paidUntil] = [clock.now() - recentMs, scope.paidBefore.getTime()]
    const { recent } = places
    const before = recent.afterAt === null ? undefined : { paidAt: recent.afterAt, id: recent.afterId }
    const [latest = [], further = [], slow = []] = await payments.paidWalks(provider, [
      { paidAfter, paidUntil, limit },
      { paidAfter, paidUntil, before, limit },
      { afterId: places.all.afterId, limit },
    ])
    const isInScope = (order: PaymentOrder) => scope.chainName === undefined || order.chainName === scope.chainName
    const isRecent = (order: PaymentOrder) => (order.paidAt ?? 0) > paidAfter
    const isOldEnough = (order: PaymentOrder) => (order.paidAt ?? Number.POSITIVE_INFINITY) <= paidUntil

    const wasSlow = slow.filter((order) => isInScope(order) && isOldEnough(order) && !isRecent(order))
    const share = wasSlow.length === 0 ? limit : limit - Math.ceil(limit / slowShare)
    const unseen = latest.filter((order) => isLater(order, places.top))
    const chosen = new Map<number, PaymentOrder>()
    for (const order of [...unseen, ...further])
      if (isInScope(order) && chosen.size < share) chosen.set(order.id, order)
    const lastRecent = further.filter(({ id }) => chosen.has(id)).at(-1)
    const chosenSlow = wasSlow.slice(0, limit - chosen.size)
    for (const order of chosenSlow) chosen.set(order.id, order)

    // Orders of the slow walk that exceeded the limit come first in the next run.
    const seenSlow =
      wasSlow.length > chosenSlow.length ? (chosenSlow.at(-1)?.id ?? places.all.afterId) : slow.at(-1)?.id
    const isAtEnd = slow.length < limit && wasSlow.length === chosenSlow.length
    const isRecentDone = further.every(({ id }) => chosen.has(id)) && further.length < limit
    const [newest] = latest
    return {
      orders: [...chosen.values()].sort((one, other) => one.id - other.id),
      fromFloor: places.all.afterId === places.floor.afterId ? slow.filter(({ id }) => id <= (seenSlow ?? 0)) : [],
      places: {
        all: isAtEnd ? places.floor : { afterId: seenSlow ?? places.floor.afterId, afterAt: null },
        floor: places.floor,
        top: newest === undefined ? places.top : { afterId: newest.id, afterAt: newest.paidAt },
        recent:
          isRecentDone || lastRecent === undefined ? start : { afterId: lastRecent.id, afterAt: lastRecent.paidAt },
      },
    }
  }

  async move(scope: WalkScope, places: Places): Promise<void> {
    const { db } = this.#parts
    await insertOrReplaceRows(
      db,
      AuditPositionRow,
      { key: 'walk', sets: ['afterId', 'afterAt'] },
      placeNames.map((name) => ({ ...places[name], id: db.newId(), walk: keyOf(scope, name) })),
    )
  }

  async #read(scope: WalkScope): Promise<Places> {
    const keys = placeNames.map((name) => keyOf(scope, name))
    const where = `where walk in (${keys.map(() => '?').join(', ')})`
    const rows = await positions.select(this.#parts.db, where, keys)
    const found = new Map(rows.map(({ walk, ...place }): [string, Place] => [walk, place]))
    const place = (name: PlaceName) => found.get(keyOf(scope, name)) ?? start
    return { all: place('all'), floor: place('floor'), top: place('top'), recent: place('recent') }
  }
}

const keyOf = ({ provider, chainName }: WalkScope, name: PlaceName) =>
  `${provider}:${chainName ?? ''}${name === 'all' ? '' : `#${name}`}`

const isLater = ({ paidAt, id }: PaymentOrder, { afterAt, afterId }: Place) =>
  afterAt === null || (paidAt ?? 0) > afterAt || (paidAt === afterAt && id > afterId)
