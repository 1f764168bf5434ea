import { service } from '../refs.ts'

/** Role of a span in a call between programs (OpenTelemetry, trace API, "SpanKind"). */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

export interface SpanOptions {
  /** Default: `internal`. */
  readonly kind?: SpanKind
  readonly attributes?: SpanAttributes
  /**
   * `traceparent` (W3C Trace Context) of the parent. Default: the current span. Without one, a new trace begins. An
   * invalid value has no effect.
   */
  readonly parent?: string | null | undefined
  /** `traceparent` to which a new trace refers. Use it for work that begins late. An invalid value has no effect. */
  readonly link?: string | null | undefined
  /** True if this product stored the link. Then the new trace is sampled if the trace of the link is. */
  readonly isOwnLink?: boolean
  /** True to begin a new trace if there is no current span. Otherwise work outside of a trace is not recorded. */
  readonly startsTrace?: boolean
}

/** One step of a trace. All texts are masked before they leave the process. */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** True if the trace is sampled. */
  readonly isRecording: boolean
  /** Calls the function as a part of the span, so that new spans in it are children of this one. */
  run<T>(work: () => T): T
  setAttributes(attributes: SpanAttributes): void
  rename(name: string): void
  /**
   * Records an error: its type and code, and no message, because messages may contain values of a caller. A business
   * error is an expected result and does not mark the span as failed. Does not end the span.
   */
  fail(error: unknown): void
  end(): void
}

/** Records spans. Its functions never throw errors of their own. */
export interface Tracer {
  /** Begins a span, and a new trace if there is no current span. The caller must end the span. */
  begin(name: string, options?: SpanOptions): Span
  /**
   * Calls the function in a span that ends with its result. If the result is a promise, the span ends when the promise
   * settles. An error marks the span as failed and is passed on.
   */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => T): T
  /** `traceparent` of the current span. Undefined outside of a trace. */
  readonly traceparent: string | undefined
  /** True if the operator trusts the `traceparent` of callers with this IP address. */
  trusts(address: string): boolean
  /** True if the operator allows that requests to this host name contain `traceparent`. */
  isShownTo(host: string): boolean
}

export interface Tracing {
  /** Undefined if no collector is configured. */
  readonly tracer: Tracer | undefined
  /**
   * Returns the address of a trace in the tracing system, with `{{traceId}}` as placeholder. Undefined if none is
   * configured.
   */
  link(): string | undefined
}

export const tracing = service<Tracing>('tracing', { from: '@plinth/opentelemetry' })

/** Calls the function in a span. Without a tracer, only calls the function. */
export function inSpan<T>(tracer: Tracer | undefined, name: string, options: SpanOptions, work: (span?: Span) => T): T {
  return tracer === undefined ? work() : tracer.span(name, options, work)
}

const traceparentForm = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Returns the trace id of a `traceparent`, or `undefined` if its form is invalid. */
export const traceIdOfParent = (traceparent: string | null | undefined): string | undefined =>
  traceparentForm.exec(traceparent ?? '')?.[1]
