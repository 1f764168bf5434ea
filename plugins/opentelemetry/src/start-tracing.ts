import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import { type Clock, errorReason, type Logger, RepeatedFailureLog, type Tracer, withinDeadline } from '@plinth/kernel'
import { MaskingSpanProcessor } from './masked-spans.ts'
import { OpenTelemetryTracer } from './open-telemetry-tracer.ts'
import { createSampler } from './sampling.ts'

interface TracingSettings {
  readonly endpoint: string
  /** Entries `name: value`. */
  readonly headers: readonly string[]
  readonly serviceName: string
  readonly exportTimeoutMs: number
  readonly samplingRatio: () => number
  readonly trustedCallers: () => readonly string[]
  readonly shownTo: () => readonly string[]
  readonly clock: Clock
  readonly log: Logger
  readonly redact: (text: string) => string
}

/** Maximum number of spans that wait for the collector. Further spans are dropped. */
const maxQueueSize = 2_048
const maxBatchSize = 512
/** Number of batches at the stop, which are all given to the exporter together: those that wait, and one that is being sent. */
const maxBatches = maxQueueSize / maxBatchSize + 1
/** Maximum number of connections to the collector. Further batches wait for one of them. */
const maxConnections = 2
const exportDelayMs = 1_000

/**
 * Starts OpenTelemetry. Also registers it for code of other packages that uses its API, unless the process has already
 * registered another one.
 */
export function startTracing(settings: TracingSettings): {
  readonly tracer: Tracer
  readonly stop: () => Promise<void>
} {
  const { serviceName, samplingRatio, trustedCallers, shownTo, clock, log, redact, exportTimeoutMs } = settings
  const { exporter, close } = createExporter(settings)
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize,
    maxExportBatchSize: maxBatchSize,
    scheduledDelayMillis: exportDelayMs,
    exportTimeoutMillis: exportTimeoutMs,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'process.pid': process.pid }),
    sampler: createSampler(samplingRatio),
    spanProcessors: [new MaskingSpanProcessor(batches, redact)],
  })
  const contexts = new AsyncLocalStorageContextManager().enable()
  const isGlobal = context.setGlobalContextManager(contexts) && trace.setGlobalTracerProvider(provider)
  if (isGlobal) propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const tracer = new OpenTelemetryTracer({ tracer: provider.getTracer('plinth'), contexts, trustedCallers, shownTo })
  const stop = async () => {
    if (isGlobal) for (const api of [trace, context, propagation]) api.disable()
    contexts.disable()
    const late = () => new Error(`The collector did not respond within ${exportTimeoutMs} ms`)
    await withinDeadline(clock, exportTimeoutMs, () => provider.shutdown(), late).catch((error: unknown) => {
      log.warn({ reason: errorReason(error) }, 'the last spans could not be sent')
    })
    close()
  }
  return { tracer, stop }
}

/** Returns an exporter that logs the first of several failures, and a function that closes its connections. */
function createExporter({ endpoint, headers, exportTimeoutMs, log }: TracingSettings) {
  const agentOptions = { keepAlive: true, maxSockets: maxConnections, timeout: exportTimeoutMs }
  const agent = endpoint.startsWith('https:') ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions)
  const exporter = new OTLPTraceExporter({
    url: endpoint,
    headers: Object.fromEntries(headers.map((header) => splitHeader(header))),
    timeoutMillis: exportTimeoutMs,
    concurrencyLimit: maxBatches,
    httpAgentOptions: () => agent,
  })
  const failures = new RepeatedFailureLog(
    { error: log.warn.bind(log), info: log.info.bind(log) },
    { failing: 'spans cannot be sent to the collector and are lost', over: 'spans are sent to the collector again' },
  )
  const watched: SpanExporter = {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) failures.succeeded()
        else failures.failed(result.error ?? new Error('The collector rejected the spans'))
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  }
  return { exporter: watched, close: () => agent.destroy() }
}

function splitHeader(header: string): readonly [name: string, value: string] {
  const at = header.indexOf(':')
  return [header.slice(0, at), header.slice(at + 1).trim()]
}
