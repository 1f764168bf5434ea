import type { IncomingMessage } from 'node:http'
import type { Span, SpanOptions, Tracer } from '@plinth/kernel'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallerAddressResolver } from '../caller/client-ip.ts'
import { callerTraceIdOf } from '../caller/message-checks.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** Span of the request, if the product records traces. */
    span?: Span
  }
}

/**
 * Begins the span of a request and returns its trace id. A caller whose `traceparent` is not trusted decides neither the
 * trace id nor whether the trace is sampled.
 */
export function beginRequestSpan(
  raw: IncomingMessage,
  tracer: Tracer,
  addresses: Pick<CallerAddressResolver, 'client'>,
): string {
  const { method = '', url = '' } = raw
  const { traceparent } = raw.headers
  const span = tracer.begin(
    method,
    typeof traceparent === 'string' ? fromCaller(raw, traceparent, tracer, addresses) : requestKind,
  )
  if (span.isRecording) {
    const callerTraceId = callerTraceIdOf(raw)
    span.setAttributes({
      'http.request.method': method,
      // Without the query, which may contain secrets.
      'url.path': url.split('?', 1)[0] ?? '',
      ...(callerTraceId === undefined ? {} : { 'plinth.caller_trace_id': callerTraceId }),
    })
  }
  raw.span = span
  return span.traceId
}

const requestKind = { kind: 'server' } as const

function fromCaller(
  { headers, socket }: IncomingMessage,
  traceparent: string,
  tracer: Tracer,
  addresses: Pick<CallerAddressResolver, 'client'>,
): SpanOptions {
  const isTrusted = tracer.trusts(addresses.client(socket.remoteAddress, headers))
  return { ...requestKind, ...(isTrusted ? { parent: traceparent } : { link: traceparent }) }
}

/** Ends the span when the response has been sent, or when its connection closes. */
export function endRequestSpan(span: Span, request: FastifyRequest, reply: FastifyReply): void {
  if (!span.isRecording) return
  reply.raw.once('close', () => {
    const { method, url: route } = request.routeOptions
    if (route !== undefined) span.rename(`${String(method)} ${route}`)
    span.setAttributes({
      'http.response.status_code': reply.raw.statusCode,
      ...(route === undefined ? {} : { 'http.route': route }),
      ...(request.failureCode === '' ? {} : { 'plinth.code': request.failureCode }),
    })
    span.end()
  })
}
