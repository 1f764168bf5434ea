import type { RecordedChange } from './recorded-change.ts'

export const settlement: readonly RecordedChange[] = [
  {
    file: 'plugins/web3-settlement/src/audit/settled-audit.ts',
    fragment: 'reasons: [...plan.reasons, ...moved]',
    replacement: 'reasons: [...moved]',
    effect: 'An audit does not report a reorganisation, a failed transaction or missing confirmations.',
    breaks: ['S-023', 'S-057'],
    noticedBy: ['plugins/web3-settlement/test/audit.test.ts'],
    only: ['S-023 S-056 S-057 an audit finds every risk, and changes no order and no transaction (sqlite)'],
  },
  {
    file: 'plugins/web3-settlement/src/execution/executor.ts',
    fragment: `    if (isComparable && fingerprint !== log.reviewFingerprint) found.add('review-fingerprint-mismatched')
`,
    replacement: '',
    effect: 'A payment that changed since its review is settled.',
    breaks: ['S-026'],
    noticedBy: ['plugins/web3-settlement/test/settle.test.ts'],
    only: [
      'S-026 S-036 S-094 a payment that changed since the review is not settled, and all changes are reported (sqlite)',
    ],
  },
  {
    file: 'plugins/web3-settlement/src/execution/executor.ts',
    fragment: `    if (this.#parts.clock.monotonic() - answeredAt > maxPlanAgeMs) found.add('rpc-query-failed')
`,
    replacement: '',
    effect: 'A plan that is older than ten seconds is executed.',
    breaks: ['S-077'],
    noticedBy: ['plugins/web3-settlement/test/attempts.test.ts'],
    only: ['S-077 a response that is older than 10 s settles nothing (sqlite)'],
  },
  {
    file: 'plugins/web3-settlement/src/execution/executor.ts',
    fragment: `  'local-order-not-settleable': 'order-not-settleable',
`,
    replacement: '',
    effect: 'A settlement returns the reason of the plan, not the documented one of the execution.',
    breaks: ['S-093'],
    noticedBy: ['plugins/web3-settlement/test/settle.test.ts'],
    only: [
      'S-021 S-033 S-034 S-037 S-038 S-039 S-093 paid and closed orders are skipped, and nothing is written (sqlite)',
    ],
  },
  {
    file: 'plugins/web3-settlement/src/audit/risk.ts',
    fragment: "'transfer-missing': ['high', 'manual-compensation']",
    replacement: "'transfer-missing': ['low', 'recheck-later']",
    effect: 'A settled payment without its transfer is a low risk.',
    breaks: ['S-066'],
    noticedBy: ['plugins/web3-settlement/test/audit.test.ts'],
    only: ['C-018 S-066 the metadata lists every value with its name, and each risk has its advice (sqlite)'],
  },
  {
    file: 'plugins/web3-settlement/src/audit/risk.ts',
    fragment: "'transfer-removed': ['high', 'manual-compensation']",
    replacement: "'transfer-removed': ['low', 'recheck-later']",
    effect: 'A settled payment whose transfer was removed is a low risk.',
    breaks: ['S-056', 'S-066', 'S-068'],
    noticedBy: ['plugins/web3-settlement/test/audit.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/audit/risk.ts',
    fragment: "'chain-transaction-not-mined': ['high', 'manual-compensation']",
    replacement: "'chain-transaction-not-mined': ['low', 'recheck-later']",
    effect: 'A settled payment whose transaction is not mined is a low risk.',
    breaks: ['S-066'],
    noticedBy: ['plugins/web3-settlement/test/audit.test.ts'],
    only: ['C-018 S-066 the metadata lists every value with its name, and each risk has its advice (sqlite)'],
  },
  {
    file: 'plugins/web3-settlement/src/audit/risk.ts',
    fragment: "'chain-transaction-failed': ['high', 'manual-compensation']",
    replacement: "'chain-transaction-failed': ['low', 'recheck-later']",
    effect: 'A settled payment whose transaction failed is a low risk.',
    breaks: ['S-056', 'S-066', 'S-068'],
    noticedBy: ['plugins/web3-settlement/test/audit.test.ts'],
  },
  {
    file: 'plugins/web3/src/chains/observation.ts',
    fragment: 'one.transaction !== null && (one.transaction.blockHash ?? blockHash) === blockHash',
    replacement: 'true',
    effect: 'A transaction and a receipt of different blocks count as one fact.',
    breaks: [],
    noticedBy: ['plugins/web3/test/provider-faults.test.ts'],
  },
]
