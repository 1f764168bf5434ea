import { adminList, createStaticLabelSource, type LabelSource } from '@plinth/admin'
import { localize, bilingual as text } from '@plinth/kernel'
import { titlesOfChoices } from '@plinth/table'
import type { ApprovalWorkflow } from './contract.ts'
import { viewApprovals } from './declarations.ts'
import { Approval } from './entities.ts'

export const workflowLabels = (workflows: ReadonlyMap<string, ApprovalWorkflow>): LabelSource =>
  createStaticLabelSource(
    (locale) => [...workflows].map(([id, { displayName }]) => ({ id, name: localize(displayName, locale) })),
    viewApprovals.code,
  )

const records = adminList('getAdminApprovals', (row) => ({
  id: 'approval.records',
  title: text('Approvals', '审批记录'),
  empty: text('No approvals yet.', '尚无审批记录。'),
  lead: text(
    'Workflow steps that users performed or were denied, and the permission that was required.',
    '已执行或被拒绝的流程步骤，以及当时所需的权限。',
  ),
  place: { group: 'audit', order: 30 },
  key: 'id',
  live: ['approval_instance'],
  columns: [
    row.time('createdAt'),
    row.status(
      'result',
      { approved: 'good', refused: 'bad' },
      { labels: titlesOfChoices(Approval.columns.result.description) },
    ),
    row.reference('workflow', { labels: 'approval.workflow' }),
    row.text('actionName', { title: text('Step', '步骤') }),
    row.text('sourceType', { hidden: true }),
    row.text('sourceId', { mono: true }),
    row.text('sourceState', { hidden: true }),
    row.text('actorName'),
    row.text('reason'),
    row.reference('permissions', { labels: 'iam.permission' }, { hidden: true }),
  ],
  filters: [
    { name: 'workflow', options: { labels: 'approval.workflow', title: text('Workflow', '流程') } },
    'sourceType',
    'sourceId',
  ],
}))

export const pages = [records]
