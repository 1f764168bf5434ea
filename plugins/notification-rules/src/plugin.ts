import { backOffice, labelSources } from '@plinth/admin'
import { asyncTasks } from '@plinth/async-task'
import { database, type WithDatabase } from '@plinth/database'
import { digests } from '@plinth/digest'
import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity, type Operator } from '@plinth/iam'
import { notificationPreferences } from '@plinth/inbox'
import { auditTexts, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { notification } from '@plinth/notification'
import { eventLabels, rulePages, rulesNeedAttention } from './admin-pages.ts'
import { AlertSender } from './alert-sender.ts'
import { AlertStates } from './alert-states.ts'
import { keys } from './config.ts'
import { notificationRules } from './contract.ts'
import { audited, businessError, messages } from './declarations.ts'
import { AlertStateRow, Rule, ruleTables } from './entities.ts'
import { createRules } from './migrations/0001-create-rules.ts'
import { indexAlertCodes } from './migrations/0002-index-alert-codes.ts'
import { followOutcomes } from './migrations/0003-follow-outcomes.ts'
import { addDigest } from './migrations/0004-add-digest.ts'
import { RaisedEvents, RuleCache, ruleMetrics } from './raised-events.ts'
import { ruleExport, ruleExporter } from './rule-export.ts'
import { ruleOperations } from './rule-operations.ts'
import { ruleRoutes } from './rule-routes.ts'
import { Rules } from './rules.ts'
import { purge } from './tasks.ts'

/** Plugin for notification rules (document 2 of the specification, "Notification rule"). */
export default definePlugin({
  id: 'notification.rules',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    // The plugin `events` is required, because messages would otherwise not be stored before they are sent.
    kernel,
    database,
    events,
    http,
    identity,
    notification,
    asyncTasks,
    i18n: optional(i18n),
    metrics: optional(metrics),
    preferences: optional(notificationPreferences),
    digests: optional(digests),
  },
  provides: [notificationRules],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ 'notification.rules': ruleTables(database) })),
    ...backOffice({ pages: rulePages, attention: rulesNeedAttention }),
    optional(labelSources),
  ],
  config: keys,
  permissions: ruleOperations.permissions,
  migrations: [createRules, indexAlertCodes, followOutcomes, addDigest],
  entities: [Rule.entity, AlertStateRow],
  scheduledTasks: [purge],
  messages,
  setup({ services, config, log, provide, contribute, onStop }) {
    const {
      database: db,
      http,
      identity,
      notification,
      events,
      asyncTasks: tasks,
      i18n,
      metrics,
      preferences,
      digests,
    } = services
    const { clock } = db
    const cache = new RuleCache((code) => rules.findByCode(code), clock)
    const rules = new Rules({ db, identity, notification, changed: () => cache.clear() })
    const judged = metrics && ruleMetrics(metrics)
    if (judged !== undefined) onStop(judged.stop)
    const raised = new RaisedEvents({
      db,
      rules: cache,
      notification,
      log,
      states: new AlertStates(db, clock, log),
      sender: new AlertSender({ notification, digests, identity, log }),
      quietMs: () => config.get('platform.notification.rules.quiet-period'),
      count: (outcome) => judged?.count(outcome),
    })
    provide(notificationRules, raised)
    tasks.handle(ruleExport, ruleExporter(rules, identity, i18n))
    contribute(labelSources, 'notification.rule-code', eventLabels(i18n))
    const operations = { services, parts: { rules } }
    const store = (operator: Operator) => ruleOperations.store(operations, operator)
    http.addRoutes(ruleOperations.routes, operations)
    http.addRoutes(ruleRoutes, { rules, store, tasks, i18n, events, preferences })
  },
})
