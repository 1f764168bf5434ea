import type { ApprovalWorkflow } from '@plinth/approval'
import { own } from './permissions.ts'

/** Code of the workflow (document 3, settlement rule 4). */
export const reviewWorkflow = 'money.web3.payment-settlement.review'
/** Kind of the sources, which are review logs; `new` is the state of one that is about to be saved. */
export const reviewSource = 'web3-settlement-review-log'

/**
 * What a person does needs the permission at that moment; what happens by itself goes back to the one whose review it was.
 * Everything that decides about money is checked by the executor again.
 */
export const settlementWorkflow = {
  displayName: { en: 'Review of on-chain payments', 'zh-CN': '链上付款复核' },
  actions: {
    record: {
      displayName: { en: 'Save a review', 'zh-CN': '保存复核' },
      from: ['new'],
      permission: own.reviewCreate,
    },
    settle: {
      displayName: { en: 'Settle', 'zh-CN': '结算' },
      from: ['open', 'approved', 'noted', 'settled'],
      permission: own.execute,
    },
    'timeout-approve': {
      displayName: { en: 'Approve an overdue review', 'zh-CN': '超时自动通过' },
      from: ['open'],
      permission: own.reviewCreate,
    },
    'timeout-reject': {
      displayName: { en: 'Reject an overdue review', 'zh-CN': '超时自动拒绝' },
      from: ['open'],
      permission: own.reviewCreate,
    },
    'auto-retry': {
      displayName: { en: 'Try again by itself', 'zh-CN': '自动重试' },
      from: ['open', 'approved'],
      permission: own.reviewCreate,
    },
  },
} as const satisfies ApprovalWorkflow

/** What can be done with a review. */
export type ReviewStep = keyof typeof settlementWorkflow.actions
