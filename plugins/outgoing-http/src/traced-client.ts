import type { Tracer } from '@plinth/kernel'
import type { OutgoingHttp, OutgoingRequest } from './contract.ts'

/** Returns a client whose requests are spans. The path and query of an address may contain secrets and are left out. */
export function tracedClient(client: OutgoingHttp, tracer: Tracer): OutgoingHttp {
  const inSpan = <Response extends { readonly status: number }>(
    request: OutgoingRequest,
    send: (request: OutgoingRequest) => Promise<Response>,
  ) => {
    const { method = 'POST', url, showsTrace = false, headers } = request
    const host = URL.parse(String(url))?.hostname ?? ''
    const attributes = { 'http.request.method': method, 'server.address': host }
    return tracer.span(`HTTP ${method}`, { kind: 'client', attributes }, async (span) => {
      const traceparent = showsTrace || tracer.isShownTo(host) ? tracer.traceparent : undefined
      const response = await send(
        traceparent === undefined ? request : { ...request, headers: { ...headers, traceparent } },
      )
      span.setAttributes({ 'http.response.status_code': response.status })
      return response
    })
  }
  return {
    check: (url) => client.check(url),
    reach: (request) => client.reach(request),
    request: (request) => inSpan(request, (sent) => client.request(sent)),
    stream: (request) => inSpan(request, (sent) => client.stream(sent)),
  }
}
