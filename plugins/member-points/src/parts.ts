import { type Database, type DatabaseClock, database } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity } from '@plinth/iam'
import {
  asClass,
  asFunction,
  type ConfigView,
  kernel,
  type Logger,
  optional,
  type Resolvers,
  type ServicesOf,
} from '@plinth/kernel'
import { ledger } from '@plinth/money'
import { scheduler } from '@plinth/scheduler'
import { createDayFormatter, site } from '@plinth/site'
import { Adjustments } from './admin/adjustments.ts'
import { CheckIns, type ProgrammeCalendar } from './check-in/check-ins.ts'
import type { keys } from './config.ts'
import { DayTotals } from './days/day-totals.ts'
import { ExpiryRuns } from './expiry/expiry-run.ts'
import { PointsExpiry } from './expiry/lapsing.ts'
import { PointsLotRepository } from './lots/lot-repository.ts'
import { Texts } from './members/texts.ts'
import { OrderRewards } from './orders/order-rewards.ts'
import { PointsDebts } from './rewards/debts.ts'
import { Rewards } from './rewards/rewards.ts'
import { Rules } from './rules/rules.ts'

export const requires = {
  kernel,
  database,
  events,
  http,
  site,
  identity,
  ledger,
  i18n: optional(i18n),
  scheduler: optional(scheduler),
} as const

/** Objects that the setup of the plugin passes in. */
interface Given extends ServicesOf<typeof requires> {
  readonly db: Database
  readonly config: ConfigView<typeof keys>
  readonly clock: DatabaseClock
  readonly log: Logger
}

/** All objects of the plugin by name. Each class selects its dependencies with `Pick`. */
export interface Parts extends Given {
  readonly calendar: ProgrammeCalendar
  readonly texts: Texts
  readonly isConfirmedAsset: (asset: string) => boolean
  readonly rules: Rules
  readonly lots: PointsLotRepository
  readonly lapsing: PointsExpiry
  readonly debts: PointsDebts
  readonly rewards: Rewards
  readonly orders: OrderRewards
  readonly checkIns: CheckIns
  readonly adjustments: Adjustments
  readonly expiry: ExpiryRuns
  /** Lets the scheduled task continue a scan that is too long for a request. */
  readonly continueExpiry: () => Promise<unknown>
  readonly days: DayTotals
}

export const resolvers: Resolvers<Parts, Given> = {
  calendar: asFunction(({ config, site }) => {
    const zone = () => config.get('platform.member-points.time-zone') ?? site.timeZone
    return { zone, dayOf: createDayFormatter(zone) }
  }),
  texts: asClass(Texts),
  // Reads `lots` only when the function is called, because `lots` depends on `rules`, and `rules` depends on this
  // function.
  isConfirmedAsset: asFunction((parts) => (asset) => parts.ledger.assets.get(asset)?.lots === parts.lots),
  rules: asClass(Rules),
  lots: asClass(PointsLotRepository),
  lapsing: asClass(PointsExpiry),
  debts: asClass(PointsDebts),
  rewards: asClass(Rewards),
  orders: asClass(OrderRewards),
  checkIns: asClass(CheckIns),
  adjustments: asClass(Adjustments),
  expiry: asClass(ExpiryRuns),
  continueExpiry: asFunction(({ config, scheduler }) => {
    const taskName = config.get('platform.member-points.expire.task-name')
    return async () => scheduler?.runNow(taskName)
  }),
  days: asClass(DayTotals),
}
