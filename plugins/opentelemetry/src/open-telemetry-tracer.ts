import { BlockList, isIP } from 'node:net'
import {
  type Span as ApiSpan,
  type Tracer as ApiTracer,
  type Context,
  type ContextManager,
  INVALID_SPAN_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'
import {
  errorCodeOf,
  isBusinessError,
  type Span,
  type SpanAttributes,
  type SpanOptions,
  type Tracer,
} from '@plinth/kernel'

interface TracerDependencies {
  readonly tracer: ApiTracer
  readonly contexts: Pick<ContextManager, 'active' | 'with'>
  /** Addresses and CIDR ranges. The same list until the value changes. */
  readonly trustedCallers: () => readonly string[]
  readonly shownTo: () => readonly string[]
}

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

/** Records spans with OpenTelemetry. Children of a span that is not recorded cost nothing and have its context. */
export class OpenTelemetryTracer implements Tracer {
  readonly #parts: TracerDependencies
  #trusted: { readonly list: readonly string[]; readonly addresses: BlockList } = {
    list: [],
    addresses: new BlockList(),
  }

  constructor(parts: TracerDependencies) {
    this.#parts = parts
  }

  begin(name: string, options: SpanOptions = {}): Span {
    const { tracer, contexts } = this.#parts
    const { kind = 'internal', attributes, isOwnLink = false } = options
    const active = contexts.active()
    const parent = contextOf(options.parent, true)
    const link = parent === undefined ? contextOf(options.link, !isOwnLink) : undefined
    const from =
      parent === undefined
        ? link === undefined
          ? active
          : trace.deleteSpan(active)
        : trace.setSpanContext(active, parent)
    const linked = link === undefined ? {} : { links: [{ context: link }] }
    const span = tracer.startSpan(name, { kind: kinds[kind], ...linked }, from)
    // Most spans are not recorded, and OpenTelemetry would copy the attributes before it decides.
    if (attributes !== undefined && span.isRecording()) span.setAttributes(attributes)
    return new RecordedSpan(span, trace.setSpan(from, span), contexts)
  }

  span<T>(name: string, options: SpanOptions, work: (span: Span) => T): T {
    if (!this.#isRecorded(options)) return work(unrecorded)
    const span = this.begin(name, options)
    let result: T
    try {
      result = span.run(() => work(span))
    } catch (error) {
      span.fail(error)
      span.end()
      throw error
    }
    if (!(result instanceof Promise)) {
      span.end()
      return result
    }
    return result.then(
      (value) => {
        span.end()
        return value
      },
      (error: unknown) => {
        span.fail(error)
        span.end()
        throw error
      },
    ) as T
  }

  /** A span needs no object of its own if its trace is not sampled, or if it would begin a trace without permission. */
  #isRecorded({ parent, link, startsTrace = false }: SpanOptions): boolean {
    if (parent != null || link != null) return true
    const current = trace.getSpan(this.#parts.contexts.active())
    return current === undefined ? startsTrace : current.isRecording()
  }

  get traceparent(): string | undefined {
    const context = trace.getSpanContext(this.#parts.contexts.active())
    return context && `00-${context.traceId}-${context.spanId}-0${context.traceFlags & 1}`
  }

  trusts(address: string): boolean {
    const list = this.#parts.trustedCallers()
    if (list.length === 0) return false
    if (this.#trusted.list !== list) this.#trusted = { list, addresses: addressesIn(list) }
    const family = isIP(address)
    return family !== 0 && this.#trusted.addresses.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }

  isShownTo(host: string): boolean {
    const name = host.toLowerCase().replace(/\.+$/, '')
    return this.#parts
      .shownTo()
      .some((shown) => (shown.startsWith('*.') ? name.endsWith(shown.slice(1)) : name === shown))
  }
}

/** Returns `undefined` for an invalid value. Only the form of version 00 of W3C Trace Context is read. */
function contextOf(traceparent: string | null | undefined, isRemote: boolean): SpanContext | undefined {
  if (traceparent == null || traceparent.length !== 55) return undefined
  const context = parseTraceParent(traceparent)
  return context === null ? undefined : { ...context, traceFlags: context.traceFlags & 1, isRemote }
}

function addressesIn(ranges: readonly string[]): BlockList {
  const addresses = new BlockList()
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (prefix === undefined) addresses.addAddress(address, family)
    else addresses.addSubnet(address, Number(prefix), family)
  }
  return addresses
}

class RecordedSpan implements Span {
  readonly #span: ApiSpan
  readonly #context: Context
  readonly #contexts: Pick<ContextManager, 'with'>

  constructor(span: ApiSpan, context: Context, contexts: Pick<ContextManager, 'with'>) {
    this.#span = span
    this.#context = context
    this.#contexts = contexts
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  get isRecording(): boolean {
    return this.#span.isRecording()
  }

  run<T>(work: () => T): T {
    return this.#contexts.with(this.#context, work)
  }

  setAttributes(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes)
  }

  rename(name: string): void {
    this.#span.updateName(name)
  }

  fail(error: unknown): void {
    if (!this.#span.isRecording()) return
    if (isBusinessError(error)) {
      this.#span.setAttribute('plinth.reason', error.reason ?? error.code)
      return
    }
    const type = error instanceof Error ? error.name : typeof error
    const code = errorCodeOf(error) ?? type
    this.#span.setAttribute('error.type', code)
    this.#span.recordException({ name: type, code })
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: code })
  }

  end(): void {
    this.#span.end()
  }
}

/** Passed to work whose span is not recorded. The work runs in the context of its caller. */
const unrecorded: Span = {
  traceId: INVALID_SPAN_CONTEXT.traceId,
  isRecording: false,
  run: (work) => work(),
  setAttributes() {},
  rename() {},
  fail() {},
  end() {},
}
