import { type LabelSource, listedLabels } from '@plinth/admin'
import { localize } from '@plinth/kernel'
import type { ApprovalWorkflow } from './contract.ts'
import { own } from './permissions.ts'

/** Workflows by their codes. */
export const workflowLabels = (workflows: ReadonlyMap<string, ApprovalWorkflow>): LabelSource =>
  listedLabels(
    (locale) => [...workflows].map(([id, { displayName }]) => ({ id, name: localize(displayName, locale) })),
    own.instanceView,
  )
