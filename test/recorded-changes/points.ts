import type { RecordedChange } from './recorded-change.ts'

export const points: readonly RecordedChange[] = [
  {
    file: 'plugins/member-points/src/rules/rules.ts',
    fragment: 'rule.config.expiresInDays === undefined ? usual : rule.config.expiresInDays',
    replacement: 'rule.config.expiresInDays ?? usual',
    effect: 'Points of a rule without expiry expire with the usual one.',
    breaks: ['P-042'],
    noticedBy: ['plugins/member-points/test/expiry.test.ts'],
  },
  {
    file: 'plugins/member-points/src/orders/order-rewards.ts',
    fragment:
      "if (refunded > paid) throw businessError('refund-exceeds-paid', { params: { refundNo }, data: { refundNo } })",
    replacement: '',
    effect: 'A refund of more than was paid takes points back.',
    breaks: ['P-031'],
    noticedBy: ['plugins/member-points/test/rewards.test.ts'],
  },
  {
    file: 'plugins/member-points/src/expiry/expiry-run.ts',
    fragment: 'signal?.aborted || clock.monotonic() >= end',
    replacement: 'signal?.aborted',
    effect: 'A scan for expired points has no time limit.',
    breaks: ['P-038'],
    noticedBy: ['plugins/member-points/test/expiry.test.ts'],
    only: ['P-038 a requested scan pauses when its time is over (sqlite)'],
  },
]
