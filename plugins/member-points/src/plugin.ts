import { backOffice, labelSources } from '@plinth/admin'
import type { WithDatabase } from '@plinth/database'
import {
  type Delivery,
  firstOrder,
  orderPaid,
  orderRefunded,
  profileCompletion,
  reviewReward,
  webhookEventTypes,
} from '@plinth/events'
import { userDeleted } from '@plinth/iam'
import { auditTexts, definePlugin, isBusinessError, optional, personalData } from '@plinth/kernel'
import { ledgerAssets, ledgerKinds } from '@plinth/money'
import { adjustmentRoutes } from './admin/adjustment-routes.ts'
import { adminRoutes, expireBatches } from './admin/admin-routes.ts'
import { orderRewardRoutes } from './admin/order-reward-routes.ts'
import { pages, pointsCharts, timelines } from './admin-pages.ts'
import { keys } from './config.ts'
import { defaultAsset, memberPoints, pointsMoved } from './contract.ts'
import { dayRoutes } from './days/day-totals.ts'
import { figureRoutes } from './days/figure-routes.ts'
import { PointsFigures } from './days/points-figures.ts'
import { audited, businessError, kindNames, messages, permissions } from './declarations.ts'
import { entities } from './entities.ts'
import { eraseMemberPoints, spendPoints } from './members/account.ts'
import { memberRoutes } from './members/member-routes.ts'
import { createMemberPoints } from './migrations/0001-create-member-points.ts'
import { seedRules } from './migrations/0002-seed-rules.ts'
import { countDays } from './migrations/0003-count-days.ts'
import { indexDays } from './migrations/0004-index-days.ts'
import { claimSources } from './migrations/0005-claim-sources.ts'
import { recordOutcomes } from './migrations/0006-record-outcomes.ts'
import { figureCharts, pointsTiles } from './overview.ts'
import { type Parts, requires, resolvers } from './parts.ts'
import { pointsTables } from './personal-data.ts'
import { ruleLabels, ruleRoutes } from './rules/rule-routes.ts'
import { dayTask, expiryTask, purgePointsData } from './tasks.ts'
import { webhookEvents } from './webhook-events.ts'

/** Member points (document 1 of the specification). */
export default definePlugin({
  id: 'member-points',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires,
  provides: [memberPoints],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ 'member-points': pointsTables(database) })),
    ledgerAssets,
    ledgerKinds.of(kindNames),
    optional(webhookEventTypes.of(webhookEvents)),
    ...backOffice({ pages, charts: [...figureCharts, ...pointsCharts], tiles: pointsTiles, timelines }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { 'member-points': { en: 'Member points', 'zh-CN': '会员积分' } },
  permissions,
  migrations: [createMemberPoints, seedRules, countDays, indexDays, claimSources, recordOutcomes],
  entities,
  messages,
  scheduledTasks: [expiryTask, dayTask, purgePointsData],
  setup({ services, config, log, wire, provide, contribute }) {
    const { database: db, events, http, ledger } = services
    const { clock } = db
    const parts = wire<Parts>()({ ...services, db, config, clock, log }, resolvers)
    const { calendar, days, expiry, isConfirmedAsset, lots, orders, rewards } = parts

    contribute(ledgerAssets, defaultAsset, {
      displayName: { en: 'Points', 'zh-CN': '积分' },
      scale: 0,
      monthZone: calendar.zone,
      lots,
    })
    events.declarePublished(pointsMoved)
    provide(memberPoints, {
      rewardTask: (task) => rewards.rewardTask(task),
      rewardLottery: (userId, operationKey, points) => rewards.rewardLottery(userId, operationKey, points),
      spend: (payment) => spendPoints(payment, parts),
      async expire(signal) {
        for (const asset of [...ledger.assets.keys()].filter(isConfirmedAsset)) {
          await expiry.run(asset, signal === undefined ? {} : { signal }).catch((error: unknown) => {
            // Another run already scans the asset, for example because an operator started it. This is not an error.
            if (!isBusinessError(error) || error.reason !== 'member-points.expiry-running') throw error
          })
        }
      },
      async countDays(signal) {
        for (const asset of [...ledger.assets.keys()].filter(isConfirmedAsset)) await days.count(asset, signal)
      },
      lotRepository: lots,
    })

    contribute(labelSources, 'member-points.rule', ruleLabels(parts.rules, parts.texts))
    http.addRoutes(memberRoutes, parts)
    http.addRoutes(dayRoutes, parts)
    http.addRoutes(figureRoutes, { db, figures: new PointsFigures(parts) })
    http.addRoutes(ruleRoutes, parts)
    http.addRoutes(adminRoutes, parts)
    http.addRoutes(expireBatches.routes, { services })
    http.addRoutes(adjustmentRoutes, parts)
    http.addRoutes(orderRewardRoutes, parts)

    const once = { transaction: true }
    const reward =
      (task: 'profile-completion' | 'first-order') =>
      ({ payload: { userId } }: Delivery<{ readonly userId: number }>) =>
        rewards.rewardTask({ task, userId })
    events.on(orderPaid, 'member-points.order-paid', ({ payload }) => orders.paid(payload), once)
    events.on(orderRefunded, 'member-points.order-refunded', ({ payload }) => orders.refunded(payload), once)
    events.on(profileCompletion, 'member-points.profile-completion', reward('profile-completion'), once)
    events.on(firstOrder, 'member-points.first-order', reward('first-order'), once)
    events.on(
      reviewReward,
      'member-points.review-reward',
      ({ payload: { userId, reviewId: subject } }) => rewards.rewardTask({ task: 'review-reward', userId, subject }),
      once,
    )
    events.on(userDeleted, 'member-points.forget-user', ({ payload }) => eraseMemberPoints(payload.userId, parts), once)
  },
})
