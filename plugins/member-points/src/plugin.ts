import { randomUUID } from 'node:crypto'
import { database } from '@plinth/database'
import { events, firstOrder, orderPaid, orderRefunded, profileCompletion, reviewReward } from '@plinth/events'
import { adminPages, charts, http, labelSources, localDays, site } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity, userDeleted } from '@plinth/iam'
import { definePlugin, isBusinessError, kernel, optional } from '@plinth/kernel'
import { ledger, ledgerAssets } from '@plinth/money'
import { scheduler } from '@plinth/scheduler'
import { Adjustments } from './admin/adjustments.ts'
import { adminRoutes } from './admin/admin-routes.ts'
import { pages, pointsCharts } from './admin-pages.ts'
import { CheckIns } from './check-in/check-ins.ts'
import { keys } from './config.ts'
import { defaultAsset, memberPoints } from './contract.ts'
import { dayRoutes } from './days/day-routes.ts'
import { dayTask } from './days/day-task.ts'
import { DayTotals } from './days/day-totals.ts'
import { entities } from './entities.ts'
import { ExpiryRuns } from './expiry/expiry-run.ts'
import { expiryTask } from './expiry/expiry-task.ts'
import { Lapsing } from './expiry/lapsing.ts'
import { purge } from './expiry/purge-task.ts'
import { messages } from './failures.ts'
import { ruleLabels } from './label-sources.ts'
import { PointsLotBook } from './lots/lot-book.ts'
import { forgetMember } from './members/forget-member.ts'
import { memberRoutes } from './members/member-routes.ts'
import { Texts } from './members/texts.ts'
import { changeSets } from './migrations/index.ts'
import { OrderRewards } from './orders/order-rewards.ts'
import { permissions } from './permissions.ts'
import { Debts } from './rewards/debts.ts'
import { Rewards } from './rewards/rewards.ts'
import { spend } from './rewards/spending.ts'
import { ruleRoutes } from './rules/rule-routes.ts'
import { Rules } from './rules/rules.ts'

/**
 * Member points: an operations layer over the money ledger (document 1). It keeps rules and where points came from; balances are
 * the ledger's.
 */
export default definePlugin({
  id: 'member-points',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: {
    ...{ kernel, database, events, http, site, identity, ledger },
    ...{ i18n: optional(i18n), scheduler: optional(scheduler) },
  },
  provides: [memberPoints],
  contributes: [ledgerAssets, optional(adminPages), optional(charts), optional(labelSources)],
  config: keys,
  configGroups: { 'member-points': { en: 'Member points', 'zh-CN': '会员积分' } },
  permissions,
  migrations: changeSets,
  entities,
  messages,
  scheduledTasks: [expiryTask, dayTask, purge],
  setup({ services, config, clock, log, provide, contribute }) {
    const { kernel, database: db, events, http, site, identity, ledger, scheduler } = services
    const zone = () => config.get('platform.member-points.time-zone') ?? site.timeZone
    const calendar = { zone, dayOf: localDays(zone) }
    const texts = new Texts(services.i18n)
    const isConfirmedAsset = (asset: string) => ledger.assets.get(asset)?.lots === lots
    const rules = new Rules({ db, clock, isConfirmedAsset })
    const usualExpiry = async (at: number) => (await rules.at('expiry', at)).expiryOf(at)
    const lots = new PointsLotBook({ db, usualExpiry })
    const lapsing = new Lapsing(db, ledger)
    const rewards = new Rewards({ db, clock, ledger, rules, debts: new Debts(db, ledger) })
    const orders = new OrderRewards({ db, clock, ledger, rules, rewards, lapsing })
    const checkIns = new CheckIns({ db, clock, rules, rewards, calendar })
    const adjustments = new Adjustments({ db, clock, ledger, rules, rewards, lapsing })
    const expiry = new ExpiryRuns({ db, clock, log, lapsing, runner: randomUUID })
    const days = new DayTotals({ db, clock, ledger, dayOf: calendar.dayOf })

    contribute(ledgerAssets, defaultAsset, {
      ...{ displayName: { en: 'Points', 'zh-CN': '积分' }, scale: 0, monthZone: zone, lots },
    })
    provide(memberPoints, {
      rewardTask: (task) => rewards.rewardTask(task),
      rewardLottery: (userId, operationKey, points) => rewards.rewardLottery(userId, operationKey, points),
      spend: (payment) => spend(payment, { clock, ledger, lapsing }),
      async expire(signal) {
        for (const asset of [...ledger.assets.keys()].filter(isConfirmedAsset)) {
          await expiry.run(asset, signal === undefined ? {} : { signal }).catch((error: unknown) => {
            // An operator has it just now.
            if (!isBusinessError(error) || error.reason !== 'member-points.expiry-running') throw error
          })
        }
      },
      async countDays(signal) {
        for (const asset of [...ledger.assets.keys()].filter(isConfirmedAsset)) await days.count(asset, signal)
      },
      lotBook: lots,
    })

    for (const page of pages) contribute(adminPages, page.id, page)
    for (const chart of pointsCharts) contribute(charts, chart.id, chart)
    contribute(labelSources, 'member-points.rule', ruleLabels(rules, texts))
    http.addRoutes(memberRoutes, { db, clock, ledger, rules, lapsing, checkIns, calendar, texts })
    http.addRoutes(dayRoutes, { days })
    http.addRoutes(ruleRoutes, { rules, texts, kernel })
    const taskName = config.get('platform.member-points.expire.task-name')
    const continueExpiry = async () => scheduler?.runNow(taskName)
    http.addRoutes(adminRoutes, { db, ledger, identity, kernel, texts, adjustments, expiry, continueExpiry })

    const once = { transaction: true }
    events.on(orderPaid, 'member-points.order-paid', async ({ payload }) => void (await orders.paid(payload)), once)
    events.on(
      orderRefunded,
      'member-points.order-refunded',
      async ({ payload }) => void (await orders.refunded(payload)),
      once,
    )
    events.on(
      profileCompletion,
      'member-points.profile-completion',
      async ({ payload: { userId } }) => void (await rewards.rewardTask({ task: 'profile-completion', userId })),
      once,
    )
    events.on(
      firstOrder,
      'member-points.first-order',
      async ({ payload: { userId } }) => void (await rewards.rewardTask({ task: 'first-order', userId })),
      once,
    )
    events.on(
      reviewReward,
      'member-points.review-reward',
      async ({ payload: { userId, reviewId } }) =>
        void (await rewards.rewardTask({ task: 'review-reward', userId, subject: reviewId })),
      once,
    )
    events.on(
      userDeleted,
      'member-points.forget-user',
      ({ payload: { userId } }) => forgetMember(userId, { db, clock, ledger, lapsing }),
      once,
    )
  },
})
