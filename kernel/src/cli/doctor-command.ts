import type { Command } from 'commander'
import { healthCheck } from '../contracts/health-check.ts'
import type { ConfigAdmin, TimelineEntry } from '../contracts/kernel.ts'
import { isPlinthError, reasonOf } from '../errors/coded-error.ts'
import { describeProblem } from '../errors/kernel-errors.ts'
import { prepareProduct } from '../product.ts'
import { systemClock } from '../time/clock.ts'
import { withinDeadline } from '../time/deadline.ts'
import { exitCodes } from './exit-codes.ts'
import { interruptible } from './interruptible.ts'
import { table } from './output.ts'
import { startPart } from './partial-start.ts'
import type { CommandScope } from './scope.ts'
import { authorStack } from './stack.ts'
import { timeTree } from './time-tree.ts'

interface Finding {
  readonly check: string
  readonly outcome: 'ok' | 'warning' | 'failed'
  readonly detail: string
  /** Where an error without advice of its own was thrown. */
  readonly stack?: string
}

/** How long one health check may take here. */
const checkDeadlineMs = 5000

export function addDoctorCommand(program: Command, scope: CommandScope): void {
  program
    .command('doctor')
    .summary('check plan, configuration and every health check without serving anything')
    .action(async () => {
      const timeline: TimelineEntry[] = []
      const findings = await interruptible((signal) => examine(scope, timeline, signal))
      const isHealthy = findings.every(({ outcome }) => outcome !== 'failed')
      const rows = findings.map(({ check, outcome, detail }) => [outcome, check, detail])
      const stacks = findings.flatMap(({ check, stack }) => (stack === undefined ? [] : [`\n${check}:\n${stack}`]))
      const times = timeline.length === 0 ? [] : ['', timeTree(timeline)]
      const text = [table([['OUTCOME', 'CHECK', 'DETAIL'], ...rows]), ...times, ...stacks].join('\n')
      scope.output.result({ healthy: isHealthy, findings, timeline }, text)
      scope.exit(isHealthy ? exitCodes.ok : exitCodes.failed)
    })
}

async function examine(scope: CommandScope, timeline: TimelineEntry[], signal: AbortSignal): Promise<Finding[]> {
  const options = { ...scope.options(), roles: ['cli'] as const, signal }
  const { problems, warnings, plan } = prepareProduct(scope.product(), options)
  const findings: Finding[] = [
    { check: 'Node.js', outcome: 'ok', detail: process.version },
    { check: 'plan', outcome: 'ok', detail: `${plan.plugins.length} plugins, ${plan.keys.size} keys` },
    ...warnings.map(({ place, message, fix }): Finding => {
      return { check: place, outcome: 'warning', detail: `${message} ${fix}` }
    }),
    ...problems.map((found): Finding => {
      return { check: found.place, outcome: 'failed', detail: describeProblem(found).trim() }
    }),
  ]
  if (problems.length > 0) return findings
  try {
    const { running, failures } = await startPart(scope, { needed: [], setsUp: 'possible', signal })
    for (const failure of failures) {
      findings.push(await judge('set-up', () => Promise.reject(failure)))
    }
    timeline.push(...running.timeline)
    const late = () => new Error(`no answer within ${checkDeadlineMs} ms`)
    for (const finding of await judgeStored(running.config, signal)) findings.push(finding)
    for (const [name, check] of running.contributions(healthCheck)) {
      const verdict = await judge(`health of ${name}`, () =>
        withinDeadline(systemClock, checkDeadlineMs, check, late, signal),
      )
      const { detail, stack } = verdict
      const masked = {
        detail: running.redact(detail),
        ...(stack === undefined ? {} : { stack: running.redact(stack) }),
      }
      findings.push({ ...verdict, ...masked })
    }
    findings.push(await judge('stop', () => running.stop('doctor ended')))
  } catch (error) {
    findings.push(await judge('set-up', () => Promise.reject(error)))
  }
  return findings
}

/** What their owners refuse of the values that are stored: what a command sets up may run on them where a server does not. */
async function judgeStored(config: ConfigAdmin, signal: AbortSignal): Promise<Finding[]> {
  const sensitive = new Set(config.catalogue.filter((entry) => entry.sensitive).map(({ key }) => key))
  const findings: Finding[] = []
  for (const { key, effective } of config.list()) {
    if (effective.source !== 'database' || effective.value === undefined || sensitive.has(key)) continue
    const { outcome, reason = '' } = await config.verify(key, effective.value, signal)
    if (outcome !== 'refused') continue
    const detail = `${reason} Store another with plinth config set, or remove it: plinth config reset ${key}`
    findings.push({ check: effective.place, outcome: 'failed', detail })
  }
  return findings
}

async function judge(check: string, work: () => Promise<void>): Promise<Finding> {
  try {
    await work()
    return { check, outcome: 'ok', detail: '' }
  } catch (error) {
    const fix = isPlinthError(error) ? ` ${error.fix}` : ''
    const stack = authorStack(error)
    return { check, outcome: 'failed', detail: `${reasonOf(error)}${fix}`, ...(stack === undefined ? {} : { stack }) }
  }
}
