import { type Clock, errorReason, type HealthCheck, type Kernel, type Logger, withinDeadline } from '@plinth/kernel'
import { readHealthWarnings } from '@plinth/kernel/host'
import type { FastifyReply } from 'fastify'
import type { Registry } from 'prom-client'
import type { AddressSet } from './caller/address-set.ts'
import type { Health, HealthOutcome } from './contract.ts'
import { envelopeType, noSniff, successEnvelope } from './envelope.ts'
import { type Route, routesWith } from './routes/declaration.ts'
import { sendFailure } from './server/app.ts'
import { englishText, type Translate } from './texts.ts'

interface HealthSources {
  readonly readiness: Readiness
  readonly isDraining: () => boolean
  readonly translate: Translate
}

const { rawRoute } = routesWith()
const probe = { method: 'GET', access: 'public', hidden: true } as const
const notReadyKey = 'messages.http.not-ready'

/** Returns the probe routes. Probes read only the HTTP status, so a failure has status 503, not 200. */
export const healthRoutes = ({ readiness, isDraining, translate }: HealthSources): readonly Route[] => [
  rawRoute({
    ...probe,
    path: '/health/live',
    summary: 'Check that the process runs',
    produces: [envelopeType],
    handler: (_request, _, reply) => sendReady(reply),
  }),
  rawRoute({
    ...probe,
    path: '/health/ready',
    summary: 'Check that the product is ready; returns 503 if it is not ready or is draining',
    produces: [envelopeType],
    async handler(request, _, reply) {
      if (!isDraining() && (await readiness.isReady())) return sendReady(reply)
      const message = translate(request.locale, notReadyKey, {}, englishText(notReadyKey))
      request.failureCode = '503'
      sendFailure({ status: 503, code: '503', kind: 'transport', message, data: { reason: 'http.not-ready' } }, reply)
      return reply
    },
  }),
]

/** Serves the metrics to `readers`. Other clients receive 404. */
export const metricsRoute = (registry: Registry, readers: AddressSet): Route =>
  rawRoute({
    ...probe,
    path: '/metrics',
    summary: 'Prometheus metrics',
    produces: [registry.contentType],
    async handler(request, _, reply) {
      if (!readers.has(request.clientIp)) return reply.callNotFound()
      return reply.type(registry.contentType).send(await registry.metrics())
    },
  })

const sendReady = (reply: FastifyReply) => reply.header(noSniff.name, noSniff.value).send(successEnvelope(null))

/** Runs all health checks concurrently, each with a time limit. Concurrent callers share one run. */
export interface Readiness extends Health {
  isReady(): Promise<boolean>
}

export function createReadiness(
  checks: () => ReadonlyMap<string, HealthCheck>,
  settings: {
    readonly deadlineMs: number
    readonly clock: Clock
    readonly log: Logger
    readonly storedValuesBehind: Kernel['storedValuesBehind']
  },
): Readiness {
  const { deadlineMs, clock, log, storedValuesBehind } = settings
  let hasBeenReady = false
  let running: Promise<readonly HealthOutcome[]> | undefined
  const reported = { failed: JSON.stringify({}), warnings: JSON.stringify({}) }

  const late = () => new Error(`no answer within ${deadlineMs} ms (platform.http.readiness-deadline)`)
  const judge = (check: HealthCheck) =>
    withinDeadline(clock, deadlineMs, check, late).then(
      (report) => ({ reason: undefined, warnings: readHealthWarnings(report) }),
      (error: unknown) => ({ reason: errorReason(error), warnings: [] }),
    )

  /** Probes run the checks every few seconds, so only changes are logged. */
  const isNews = (kind: keyof typeof reported, entries: object): boolean => {
    const report = JSON.stringify(entries)
    if (report === reported[kind]) return false
    reported[kind] = report
    return true
  }

  /**
   * Returns a hint for the log that lists stored configuration values of the plugins with failed checks, because such a
   * value may prevent the start. The names of checks contain the ids of plugins. After the first success, the hint is
   * empty.
   */
  const adviceFor = (failed: Readonly<Record<string, string>>) => {
    const stored = hasBeenReady
      ? ''
      : storedValuesBehind([...Object.keys(failed), 'http'], Object.values(failed).join(' '))
    return stored === '' ? '' : `.${stored}`
  }

  const ask = async (): Promise<readonly HealthOutcome[]> => {
    const outcomes = await Promise.all([...checks()].map(async ([name, check]) => ({ name, ...(await judge(check)) })))
    const failed = Object.fromEntries(
      outcomes.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason] as const])),
    )
    if (isNews('failed', failed)) {
      if (Object.keys(failed).length > 0) log.warn({ failed }, `not ready${adviceFor(failed)}`)
      else log.info('ready again')
    }
    if (Object.keys(failed).length === 0) hasBeenReady = true
    const warnings = Object.fromEntries(
      outcomes.flatMap(({ name, warnings }) => (warnings.length === 0 ? [] : [[name, warnings] as const])),
    )
    if (isNews('warnings', warnings)) {
      if (Object.keys(warnings).length > 0) log.warn({ warnings }, 'health checks report warnings')
      else log.info('health checks report no warnings')
    }
    return outcomes
  }

  const outcomes = () => {
    running ??= ask().finally(() => {
      running = undefined
    })
    return running
  }
  return { outcomes, isReady: async () => (await outcomes()).every(({ reason }) => reason === undefined) }
}
