import { backOffice, labelSources } from '@plinth/admin'
import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { database, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { pages, workflowLabels } from './admin-pages.ts'
import { approvalRecords } from './approval-routes.ts'
import { keys } from './config.ts'
import { approvals, approvalWorkflow } from './contract.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { Approval } from './entities.ts'
import { ApprovalGuard } from './guard.ts'
import { createApproval } from './migrations/0001-create-approval.ts'
import { indexSourceType } from './migrations/0002-index-source-type.ts'

const requires = { kernel, database, http } as const

const purge = createPurgeTask<{ requires: typeof requires; config: typeof keys }>('platform.approval', {
  displayName: { en: 'Remove old approvals', 'zh-CN': '清除过期的审批记录' },
  old: ({ config, clock }) => [
    rowsBefore('approval_instance', 'created_at', new Date(clock.now() - config.get('platform.approval.retention'))),
  ],
})

/** Approval workflows: which step is allowed in which state and with which permission. Every check is recorded. */
export default definePlugin({
  id: 'approval',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires,
  provides: [approvals],
  extensionPoints: [approvalWorkflow],
  contributes: [
    personalData.of(({ database }: WithDatabase) => ({ approval: Approval.personalTables(database) })),
    ...backOffice({ pages }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { approval: { en: 'Approvals', 'zh-CN': '审批' } },
  permissions,
  migrations: [createApproval, indexSourceType],
  entities: [Approval.entity],
  messages,
  scheduledTasks: [purge],
  setup({ services, provide, contribute, contributions }) {
    const { database: db, http } = services
    const workflows = contributions(approvalWorkflow)
    provide(approvals, new ApprovalGuard({ db, clock: db.clock, workflows }))
    contribute(labelSources, 'approval.workflow', workflowLabels(workflows))
    http.addRoutes(approvalRecords(workflows).routes, { services })
  },
})
