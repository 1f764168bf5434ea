import type { RecordedChange } from './recorded-change.ts'

export const money: readonly RecordedChange[] = [
  {
    file: 'plugins/money/src/reconcile/reconciler.ts',
    fragment: `counts.journals += page.count
      after = page.last
`,
    replacement: `counts.journals += page.count
      after = end
`,
    effect: 'The reconciliation compares only the first page of journals.',
    breaks: ['K-014'],
    noticedBy: ['plugins/money/test/reconcile.test.ts'],
    only: ['K-014 reconciliation reads all journals, also beyond the first page (sqlite)'],
  },
  {
    file: 'plugins/money/src/ledger/checks.ts',
    fragment: '[action, kind, refType',
    replacement: '[action, refType',
    effect: 'A key that is used again for a movement of another kind replays the first one.',
    breaks: ['K-014'],
    noticedBy: ['plugins/money/test/postings.test.ts'],
  },
]
