import { spawnSync } from 'node:child_process'

const severities = ['info', 'low', 'moderate', 'high', 'critical'] as const
type Severity = (typeof severities)[number]

/** Minimum severity that stops a release. Less severe vulnerabilities are only reported. */
const minSeverity: Severity = 'moderate'

interface Vulnerability {
  readonly severity: Severity
  readonly range: string
  readonly via: readonly (string | { readonly title: string; readonly url: string })[]
}

interface AuditResult {
  readonly lines: readonly string[]
  /** True if the release must not be published. */
  readonly isBroken: boolean
}

/** Runs `npm audit --json` for the runtime dependencies, which queries the registry. Returns its report. */
export function fetchReport(root: string): string {
  const { stdout, error } = spawnSync('npm', ['audit', '--json', '--omit=dev'], { cwd: root, encoding: 'utf8' })
  if (error !== undefined) throw error
  return stdout
}

/** Evaluates a report. A report that cannot be parsed, or that the registry did not answer, is an error. */
export function judgeReport(text: string): AuditResult {
  let report: { vulnerabilities?: Readonly<Record<string, Vulnerability>>; message?: string }
  try {
    report = JSON.parse(text)
  } catch {
    return { lines: ['npm audit gave no report'], isBroken: true }
  }
  const { vulnerabilities } = report
  if (vulnerabilities === undefined) {
    return { lines: [`npm audit gave no report: ${report.message ?? 'unknown reason'}`], isBroken: true }
  }
  const found = Object.entries(vulnerabilities).sort(([, a], [, b]) => rank(b.severity) - rank(a.severity))
  const lines = found.map(
    ([name, { severity, range, via }]) => `${severity}: ${name} ${range}: ${via.map(described).join('; ')}`,
  )
  const stopping = found.filter(([, { severity }]) => rank(severity) >= rank(minSeverity))
  const total = `${found.length} packages with known weaknesses, ${stopping.length} of them ${minSeverity} or worse`
  return { lines: [...lines, total], isBroken: stopping.length > 0 }
}

/** An unknown severity is treated as the highest. */
const rank = (severity: Severity) => (severities.includes(severity) ? severities.indexOf(severity) : severities.length)

const described = (via: Vulnerability['via'][number]) =>
  typeof via === 'string' ? `through ${via}` : `${via.title} (${via.url})`
