import type { RecordedChange } from './recorded-change.ts'

export const api: readonly RecordedChange[] = [
  {
    file: 'scripts/api-compat.ts',
    fragment: '`diff -ru -x',
    replacement: '`diff -rq -x',
    effect: 'The commands that compare two releases do not show the differences.',
    breaks: ['C-041'],
    noticedBy: ['test/release/release.test.ts'],
    only: ['C-041 the printed commands compare the previous release with the build'],
  },
  {
    file: 'plugins/member-points/src/admin/admin-routes.ts',
    fragment: `const batchView = Type.Object({
  id,
`,
    replacement: `const batchView = Type.Object({
  id,
  points_total: Type.Optional(Type.Integer()),
`,
    effect: 'A response has a field in snake case.',
    breaks: ['C-013'],
    noticedBy: ['test/api-description.test.ts'],
  },
  {
    file: 'plugins/http/src/openapi/operation-types.ts',
    fragment: "    ['data', data === undefined ? 'never' : typeOf(data), true],",
    replacement: "    ['data', 'never', true],",
    effect: 'The types of the pages do not follow the responses.',
    breaks: ['C-033'],
    noticedBy: ['plugins/http/test/routes.test.ts'],
    only: ['C-033 an added member appears in the description and in the types of the pages'],
  },
  {
    file: 'plugins/open-platform/src/signature/canonical-request.ts',
    fragment: 'order(a, b) || order(x, y)',
    replacement: 'order(a, b)',
    effect: 'Two spellings of a repeated parameter have different signatures.',
    breaks: [],
    noticedBy: ['plugins/open-platform/test/signature.test.ts'],
  },
  {
    file: 'plugins/open-platform/src/signature/canonical-request.ts',
    fragment: "[method, path, sorted, hash('sha256', body, 'hex'), timestamp, nonce]",
    replacement: "[method, path, sorted, hash('sha256', body, 'hex'), nonce, timestamp]",
    effect: 'The canonical text is not the documented one.',
    breaks: ['C-048', 'C-049'],
    noticedBy: ['plugins/open-platform/test/signature.test.ts'],
  },
  {
    file: 'plugins/open-platform/src/usage/call-meter.ts',
    fragment: `      const fresh = calls.filter(({ callKey }) => !known.has(callKey))
`,
    replacement: `      const fresh = calls.filter(({ callKey }) => callKey !== '' || !known.has(callKey))
`,
    effect: 'A call that is written twice is counted twice.',
    breaks: ['C-051'],
    noticedBy: ['plugins/open-platform/test/metering.test.ts'],
    only: ['C-051 the same call written twice is one record'],
  },
]
