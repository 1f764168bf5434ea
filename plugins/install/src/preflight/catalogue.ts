type CheckStatus = 'passed' | 'warning' | 'failed'
type CheckGroup = 'runtime' | 'files' | 'database' | 'cache' | 'storage' | 'policy'

const directory = { group: 'files', findings: { passed: 'passed', creatable: 'passed', unwritable: 'failed' } } as const
const disk = {
  group: 'storage',
  findings: { passed: 'passed', disabled: 'warning', unknown: 'failed', unusable: 'failed' },
} as const

/**
 * All environment checks (document 3 of the specification, "Behaviour by endpoint", point 1; decision D19), with their
 * possible results and the status of each result. The texts have the same names in `messages/`.
 */
export const preflightCatalogue = {
  'node-version': { group: 'runtime', findings: { passed: 'passed', unsupported: 'failed' } },
  charset: { group: 'runtime', findings: { passed: 'passed', unset: 'passed', other: 'warning' } },
  icu: { group: 'runtime', findings: { passed: 'passed', partial: 'warning', none: 'failed' } },
  'heap-limit': { group: 'runtime', findings: { passed: 'passed', low: 'warning', 'too-low': 'failed' } },
  clock: { group: 'runtime', findings: { passed: 'passed', wrong: 'failed' } },
  'time-zone': { group: 'runtime', findings: { passed: 'passed', unknown: 'warning' } },

  'directory-run': { group: 'files', findings: { passed: 'passed', 'read-only': 'passed', unusable: 'failed' } },
  'directory-storage': directory,
  'directory-public': directory,
  'directory-log': directory,
  'disk-space': {
    group: 'files',
    findings: { passed: 'passed', low: 'warning', 'too-low': 'failed', unknown: 'warning' },
  },
  'env-file': {
    group: 'files',
    findings: { passed: 'passed', creatable: 'passed', readable: 'warning', unwritable: 'failed', malformed: 'failed' },
  },
  'env-example': { group: 'files', findings: { passed: 'passed', incomplete: 'warning', missing: 'failed' } },

  'database-connection': {
    group: 'database',
    findings: {
      passed: 'passed',
      none: 'warning',
      unreachable: 'failed',
      denied: 'failed',
      unknown: 'failed',
      file: 'failed',
    },
  },
  'database-privileges': {
    group: 'database',
    findings: {
      passed: 'passed',
      create: 'failed',
      alter: 'failed',
      write: 'failed',
      drop: 'failed',
      'read-only': 'failed',
    },
  },
  'database-clock': { group: 'database', findings: { passed: 'passed', apart: 'warning' } },
  'migration-state': {
    group: 'database',
    findings: {
      passed: 'passed',
      empty: 'passed',
      unknown: 'failed',
      locked: 'warning',
      orphaned: 'warning',
      changed: 'failed',
      foreign: 'failed',
    },
  },

  'cache-connection': { group: 'cache', findings: { passed: 'passed', none: 'warning', unreachable: 'failed' } },
  'storage-service': { group: 'storage', findings: { passed: 'passed', none: 'warning' } },
  'storage-public-disk': disk,
  'storage-local-disk': disk,

  'https-policy': {
    group: 'policy',
    findings: { passed: 'passed', plain: 'passed', unsafe: 'warning', refused: 'failed' },
  },
  'lite-mode': { group: 'policy', findings: { passed: 'passed', lite: 'passed', refused: 'warning' } },
  listener: { group: 'policy', findings: { passed: 'passed', loopback: 'passed' } },
} as const satisfies Record<
  string,
  { readonly group: CheckGroup; readonly findings: Readonly<Record<string, CheckStatus>> }
>

export type CheckCode = keyof typeof preflightCatalogue
export type CheckFinding<C extends CheckCode> = keyof (typeof preflightCatalogue)[C]['findings'] & string
type TextParams = Readonly<Record<string, string | number>>

/** Message name and placeholder values, without secrets and absolute paths. */
export interface TextRef {
  readonly key: string
  readonly params: TextParams
}

export interface PreflightItem {
  /** Stable code, a name in `preflightCatalogue`. */
  readonly code: CheckCode
  readonly group: CheckGroup
  readonly status: CheckStatus
  readonly message: TextRef
  /** How to fix the problem. Set unless the check passed. */
  readonly fix: TextRef | undefined
}

export function preflightItem<C extends CheckCode>(
  code: C,
  finding: CheckFinding<C>,
  params: TextParams = {},
): PreflightItem {
  const { group } = preflightCatalogue[code]
  const findings: Readonly<Record<string, CheckStatus>> = preflightCatalogue[code].findings
  const status = findings[finding] ?? 'failed'
  const root = `messages.install.preflight.${code}`
  const fix = status === 'passed' ? undefined : { key: `${root}.fix.${finding}`, params }
  return { code, group, status, message: { key: `${root}.${finding}`, params }, fix }
}
