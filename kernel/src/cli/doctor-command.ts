import type { Command } from 'commander'
import { systemClock } from '../clock.ts'
import { healthCheck } from '../contracts/health-check.ts'
import { withinDeadline } from '../deadline.ts'
import { describeProblem, isPlinthError, reasonOf } from '../errors.ts'
import { prepareProduct } from '../product.ts'
import { startProduct } from '../running-product.ts'
import { exitCodes } from './exit-codes.ts'
import { interruptible } from './interruptible.ts'
import { table } from './output.ts'
import type { CommandScope } from './scope.ts'

interface Finding {
  readonly check: string
  readonly outcome: 'ok' | 'warning' | 'failed'
  readonly detail: string
}

/** How long one health check may take here. */
const checkDeadlineMs = 5000

export function addDoctorCommand(program: Command, scope: CommandScope): void {
  program
    .command('doctor')
    .summary('check plan, configuration and every health check without serving anything')
    .action(async () => {
      const findings = await interruptible((signal) => examine(scope, signal))
      const isHealthy = findings.every(({ outcome }) => outcome !== 'failed')
      const rows = findings.map(({ check, outcome, detail }) => [outcome, check, detail])
      scope.output.result({ healthy: isHealthy, findings }, table([['OUTCOME', 'CHECK', 'DETAIL'], ...rows]))
      scope.exit(isHealthy ? exitCodes.ok : exitCodes.failed)
    })
}

async function examine(scope: CommandScope, signal: AbortSignal): Promise<Finding[]> {
  const options = { ...scope.options(), roles: ['cli'] as const, signal }
  const { problems, config, plan } = prepareProduct(scope.product(), options)
  const findings: Finding[] = [
    { check: 'Node.js', outcome: 'ok', detail: process.version },
    { check: 'plan', outcome: 'ok', detail: `${plan.plugins.length} plugins, ${plan.keys.size} keys` },
    ...config.warnings.map(({ place, message, fix }): Finding => {
      return { check: place, outcome: 'warning', detail: `${message} ${fix}` }
    }),
    ...problems.map((found): Finding => {
      return { check: found.place, outcome: 'failed', detail: describeProblem(found).trim() }
    }),
  ]
  if (problems.length > 0) return findings
  try {
    const running = await startProduct(scope.product(), options)
    const late = () => new Error(`no answer within ${checkDeadlineMs} ms`)
    for (const [name, check] of running.contributions(healthCheck)) {
      const verdict = await judge(`health of ${name}`, () =>
        withinDeadline(systemClock, checkDeadlineMs, check, late, signal),
      )
      findings.push({ ...verdict, detail: running.redact(verdict.detail) })
    }
    findings.push(await judge('stop', () => running.stop('doctor ended')))
  } catch (error) {
    findings.push(await judge('set-up', () => Promise.reject(error)))
  }
  return findings
}

async function judge(check: string, work: () => Promise<void>): Promise<Finding> {
  try {
    await work()
    return { check, outcome: 'ok', detail: '' }
  } catch (error) {
    const fix = isPlinthError(error) ? ` ${error.fix}` : ''
    return { check, outcome: 'failed', detail: `${reasonOf(error)}${fix}` }
  }
}
