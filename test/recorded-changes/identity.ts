import type { RecordedChange } from './recorded-change.ts'

export const identity: readonly RecordedChange[] = [
  {
    file: 'plugins/iam/src/sessions/login.ts',
    fragment: ' and enabled = ? and password_hash = ?',
    replacement: ' and enabled = ? and ? is not null',
    effect: 'A login that is under way while the password is replaced restores the old password and opens a session.',
    breaks: [],
    noticedBy: ['plugins/iam/test/in-flight.test.ts'],
  },
]
